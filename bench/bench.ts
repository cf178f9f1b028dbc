// `npm run bench -- [--quick] [--workload NAME] [--rounds N] [--profile NAME] [--without NAME] [--only NAME] [--server FILE]`
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { chooseCores, pinSelf } from './cores.ts'
import { killAll } from './fleet.ts'
import { markdown, oneLine, problems } from './report.ts'
import { run } from './run.ts'
import { BASELINE, servers } from './servers/index.ts'
import { workloads } from './workloads/index.ts'

const USAGE = `npm run bench -- [options]
  --quick           about three minutes: shorter windows, fewer rounds, a shorter warm-up
  --workload NAME   only this one; may be given again (${workloads.map(({ name }) => name).join(', ')})
  --rounds N        at least so many rounds
  --profile NAME    a CPU profile of this server goes to the results
  --without NAME    leave this server out; may be given again (${servers.map(({ name }) => name).join(', ')})
  --only NAME       only this server and the baseline; may be given again
  --server FILE     one more server, a module like those in bench/servers; named for its file; may be given again
  --out DIR         where the results go (bench/results)`

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}

/** The named ones of a list; a name that is not in it is a mistake. */
function pick<T extends { name: string }>(items: readonly T[], names: readonly string[], what: string): T[] {
  for (const name of names) {
    if (!items.some((item) => item.name === name)) fail(`no ${what} ${name}\n${USAGE}`)
  }
  return items.filter(({ name }) => names.includes(name))
}

function options() {
  try {
    return parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        workload: { type: 'string', multiple: true, default: [] },
        rounds: { type: 'string' },
        profile: { type: 'string' },
        without: { type: 'string', multiple: true, default: [] },
        only: { type: 'string', multiple: true, default: [] },
        server: { type: 'string', multiple: true, default: [] },
        out: { type: 'string', default: resolve(import.meta.dirname, 'results') },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    fail(`${(error as Error).message}\n${USAGE}`)
  }
}

const given = options()
if (given.help) {
  console.log(USAGE)
  process.exit(0)
}
const more = given.server.map((file) => ({ name: basename(file).replace(/\.\w+$/, ''), file: resolve(file) }))
const all = [...servers, ...more]
const left = pick(all, given.without, 'server')
const only = given.only.length === 0 ? all : pick(all, [BASELINE, ...given.only], 'server')
const taking = only.filter((server) => server.name === BASELINE || !left.includes(server))
if (given.profile !== undefined) pick(taking, [given.profile], 'server')
const rounds = given.rounds === undefined ? (given.quick ? 4 : 8) : Number(given.rounds)
if (!Number.isInteger(rounds) || rounds < 1) fail(`--rounds wants a whole number from 1\n${USAGE}`)

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    killAll()
    process.exit(130)
  })
}
process.once('exit', killAll)

const out = resolve(given.out)
mkdirSync(out, { recursive: true })
const cores = chooseCores()
if (cores) pinSelf(cores.load)

const report = await run(given.workload.length === 0 ? workloads : pick(workloads, given.workload, 'workload'), {
  servers: taking,
  cores,
  connections: 32,
  windowMs: given.quick ? 500 : 1000,
  warmup: given.quick ? 1_000 : 5_000,
  rounds,
  maxRounds: given.quick ? Math.ceil(rounds * 1.5) : rounds * 3,
  profile: given.profile === undefined ? undefined : { name: given.profile, dir: out },
  progress: (line) => process.stderr.write(`${line}\n`),
})

writeFileSync(resolve(out, 'latest.json'), `${JSON.stringify(report, null, 2)}\n`)
const text = markdown(report)
writeFileSync(resolve(out, 'latest.md'), text)
console.log(text)
const found = problems(report)
for (const problem of found) process.stderr.write(`bench failed: ${problem}\n`)
console.log(oneLine(report))
process.exit(found.length === 0 ? 0 : 1)
