// `npm run conformance -- [--era legacy|modern] [--fixture NAME,…]`: the official suite against our fixtures.
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startFixture } from './fixture.ts'
import { FIXTURES, type Fixture, type Run } from './runs.ts'
import { type Outcome, runSuite } from './suite.ts'
import { judge, type Verdict } from './verdict.ts'
import { startVersionProxy } from './version-proxy.ts'

const OUT = fileURLToPath(new URL('../../out/conformance', import.meta.url))
/** Its checks are shown in full: that it saw a stream which closes is seen there alone. */
const SHOWN = 'server-sse-polling'
const STATUSES = ['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO'] as const

interface Selected {
  fixtures: readonly Fixture[]
  runs(fixture: Fixture): readonly Run[]
}

/** Throws an Error whose text is for the person who typed the arguments. */
function select(args: readonly string[]): Selected {
  const options = { era: { type: 'string' }, fixture: { type: 'string', default: FIXTURES[0]!.name } } as const
  const { values } = parseArgs({ args: [...args], options, strict: true })
  const { era } = values
  if (era !== undefined && era !== 'legacy' && era !== 'modern') throw new Error('--era must be legacy or modern')
  const fixtures = values.fixture.split(',').map((name) => {
    const found = FIXTURES.find((fixture) => fixture.name === name)
    if (!found) throw new Error(`--fixture must be of ${FIXTURES.map((fixture) => fixture.name).join(', ')}`)
    return found
  })
  return { fixtures, runs: (fixture) => fixture.runs.filter((run) => era === undefined || run.era === era) }
}

async function runOne(fixture: Fixture, run: Run): Promise<Outcome> {
  const { url, stop } = await startFixture(fixture.name, fixture.nodes)
  try {
    const proxy = run.asks === undefined ? undefined : await startVersionProxy(url, run.asks)
    try {
      const folder = `${OUT}/${fixture.name}/${[run.revision, ...run.args].join(' ').replace(/[^\w.]+/g, '-')}`
      return await runSuite(proxy?.url ?? url, run.args, folder)
    } finally {
      await proxy?.close()
    }
  } finally {
    await stop()
  }
}

const passes = (checks: Outcome['checks'], scenario: string) =>
  (checks.get(scenario) ?? []).every(({ status }) => status !== 'FAILURE' && status !== 'WARNING')

function figures(counts: Verdict['counts']): string {
  return STATUSES.map((status) => `${counts[status]} ${status}`).join(', ')
}

function show(fixture: Fixture, run: Run, outcome: Outcome, { counts, problems }: Verdict): void {
  const { scenarios, unscored, checks, output } = outcome
  const asks = run.asks === undefined ? '' : `, asked for ${run.asks}`
  console.log(`\n== ${fixture.name}, ${run.revision}: ${run.args.join(' ')}${asks}`)
  console.log(`${scenarios.length} scenarios: ${scenarios.join(' ')}`)
  const scored = scenarios.filter((scenario) => !unscored.has(scenario))
  console.log(`scored by the suite: ${scored.filter((one) => passes(checks, one)).length} of ${scored.length} pass`)
  console.log(`checks: ${figures(counts)}`)
  for (const { id, status, description, details } of checks.get(SHOWN) ?? []) {
    console.log(`  ${SHOWN}: ${status} ${id}: ${description} ${JSON.stringify(details ?? {})}`)
  }
  for (const problem of problems) console.log(`  ${problem}`)
  if (scenarios.length === 0) console.log(output)
}

async function main(args: readonly string[]): Promise<void> {
  const { fixtures, runs } = select(args)
  const total = { runs: 0, scenarios: 0, problems: 0 }
  const counts: Verdict['counts'] = { SUCCESS: 0, FAILURE: 0, WARNING: 0, SKIPPED: 0, INFO: 0 }
  for (const fixture of fixtures) {
    for (const run of runs(fixture)) {
      const outcome = await runOne(fixture, run)
      const verdict = judge(run, outcome)
      show(fixture, run, outcome, verdict)
      total.runs++
      total.scenarios += outcome.scenarios.length
      for (const status of STATUSES) counts[status] += verdict.counts[status]
      total.problems += verdict.problems.length
    }
  }
  const { runs: ran, scenarios, problems } = total
  console.log(`\nconformance: ${ran} runs, ${scenarios} scenarios: ${figures(counts)}; ${problems} problems`)
  if (total.problems > 0 || total.runs === 0) process.exitCode = 1
}

// So that what was started ends too.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => process.exit(1))

main(process.argv.slice(2)).catch((error) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
})
