// The commands of the house: what is not there yet fails, and a run's last line is the truth.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Runs Node in the project's root; a failure is an outcome like any other. */
async function node(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const run = promisify(execFile)(process.execPath, args, { cwd: root })
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}

test.each([
  ['fuzz', 9],
  ['chaos', 11],
  ['soak', 11],
])('npm run %s is not there yet, and says so', async (name, issue) => {
  const { code, stdout, stderr } = await node(`scripts/${name}.mjs`)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe(`npm run ${name}: not yet: issue ${issue}\n`)
})

/** A run of these steps; each is the body of an async function. */
const tally = (...steps: string[]) =>
  node(
    '--input-type=module',
    '-e',
    `import { createTally } from './scripts/tally.mjs'
    const tally = createTally()
    ${steps.map((step, i) => `await tally.step('step ${i}', async () => { ${step} })`).join('\n')}
    tally.close()`,
  )
const lastLine = (text: string) => text.trimEnd().split('\n').at(-1)

test('a run in which all passed exits 0', async () => {
  const { code, stdout } = await tally('', 'tally.add(3, [])')
  expect([code, lastLine(stdout)]).toEqual([0, '4 passed, 0 failed'])
})

test('a step or a test that fails is named, counted, and makes the run exit 1', async () => {
  const { code, stdout, stderr } = await tally("throw new Error('why')", "tally.add(3, ['a test'])", '')
  expect([code, lastLine(stdout)]).toEqual([1, '4 passed, 2 failed'])
  expect(stdout).toContain('Failed:\n  step 0\n  a test\n')
  expect(stdout).toMatch(/== step 1: FAILED/)
  expect(stderr).toContain('why')
})

test('a run of nothing fails', async () => {
  const { code, stdout } = await tally()
  expect([code, lastLine(stdout)]).toEqual([1, '0 passed, 0 failed'])
})
