import { expect, test } from 'vitest'
import type { Check, Outcome } from './suite.ts'
import { announced } from './suite.ts'
import { judge } from './verdict.ts'

const check = (id: string, status: Check['status'], more: Partial<Check> = {}): Check => ({
  id,
  name: id,
  description: `what ${id} is`,
  status,
  ...more,
})

/** A run in which these scenarios left these checks. */
function outcome(checks: Record<string, Check[]>, more: Partial<Outcome> = {}): Outcome {
  const scenarios = Object.keys(checks)
  return {
    promised: scenarios.length,
    scenarios,
    unscored: new Set(),
    checks: new Map(Object.entries(checks)),
    exitCode: 0,
    output: '',
    ...more,
  }
}

const strict = { skipped: [], fails: {} }
const ping = [check('ping', 'SUCCESS')]

test('what passes has no problems, and is counted', () => {
  const { counts, problems } = judge(strict, outcome({ ping, list: [check('list', 'SUCCESS'), check('note', 'INFO')] }))
  expect(problems).toEqual([])
  expect(counts).toEqual({ SUCCESS: 2, FAILURE: 0, WARNING: 0, SKIPPED: 0, INFO: 1 })
})

test.each<[string, Outcome, string]>([
  ['a failure', outcome({ ping: [check('a', 'FAILURE', { errorMessage: 'no' })] }), 'FAILURE ping, a: no'],
  ['a warning, which the suite lets pass', outcome({ ping: [check('a', 'WARNING')] }), 'WARNING ping, a: what a is'],
  ['a skipped check', outcome({ ping: [check('a', 'SKIPPED')] }), 'SKIPPED ping: was not to be skipped'],
  [
    'a scenario that broke down',
    outcome({ ping }, { scenarios: ['ping', 'x'], promised: 2 }),
    'FAILURE x: left no checks',
  ],
  ['a scenario without a check', outcome({ ping: [] }), 'FAILURE ping: left no checks'],
  ['a run that was cut short', outcome({ ping }, { promised: 3 }), '3 scenarios were promised, 1 were run'],
  ['a run of nothing', outcome({}), '0 scenarios were promised, 0 were run'],
  ['a bad end', outcome({ ping }, { exitCode: 1 }), 'the suite ended with 1'],
  [
    'a stream that never closed',
    outcome({ 'server-sse-polling': [check('server-sse-priming-event', 'SUCCESS'), check('stream-closed', 'INFO')] }),
    'FAILURE server-sse-polling: passed without server-sse-disconnect-resume',
  ],
  [
    'a resumption that was not tried',
    outcome({ 'server-sse-polling': [check('server-sse-disconnect-resume', 'INFO')] }),
    'FAILURE server-sse-polling: passed without server-sse-disconnect-resume',
  ],
  [
    'a lifecycle without a session',
    outcome({ 'server-session-lifecycle': [check('server-session-lifecycle-skipped', 'INFO')] }),
    'FAILURE server-session-lifecycle: passed without server-session-terminated-returns-404',
  ],
])('a problem: %s', (_what, ran, problem) => {
  expect(judge(strict, ran).problems).toEqual([problem])
})

test('what is to be skipped must be', () => {
  const expected = { ...strict, skipped: ['tasks'] }
  expect(judge(expected, outcome({ ping, tasks: [check('a', 'SKIPPED')] })).problems).toEqual([])
  expect(judge(expected, outcome({ ping })).problems).toEqual(['tasks: was to be skipped, and is not'])
})

test('what is to fail must fail, and nothing else may', () => {
  const expected = { ...strict, fails: { ping: ['a'] } }
  const ran = (...checks: Check[]) => judge(expected, outcome({ ping: checks }, { exitCode: 1 })).problems
  expect(ran(check('a', 'FAILURE'), check('b', 'SUCCESS'))).toEqual([])
  expect(ran(check('a', 'SUCCESS'))).toEqual(['ping, a: was to fail, and does not'])
  expect(ran(check('a', 'FAILURE'), check('b', 'WARNING'))).toEqual(['WARNING ping, b: what b is'])
})

test("the suite's own words say what it runs", () => {
  const output = [
    'Running all suite (2 scenarios) against http://127.0.0.1:1/mcp',
    '=== Running scenario: ping ===',
    'Running client scenario',
    '✓ ping: 2 passed, 0 failed',
    '=== Running scenario: tools-list ===',
    'Not scored for 2025-11-25: 1 scenario(s) run, 0 failing.',
    '  ✓ tools-list (added-after-release)',
  ].join('\n\n')
  const unscored = new Set(['tools-list'])
  expect(announced(output)).toEqual({ promised: 2, scenarios: ['ping', 'tools-list'], unscored })
})
