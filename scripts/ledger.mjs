// The ledger: for each requirement of the spec, a passing test that names it, or the reason why it is not ours.
//   npm run ledger                    from a test run of its own
//   npm run ledger -- --from FILE     from the results of a run that was done (Vitest's JSON)
//   npm run ledger -- --break N       also breaks the lines that fulfil N requirements, drawn by the commit's hash
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { breakLines } from './ledger/break.mjs'
import { node, root, run } from './run.mjs'

/** Groups that have to be whole; the others are shown. */
const WHOLE = []
/** May only fall. */
const NOT_OURS_MAX = 21

// A test that ran this command would run all tests, and so itself, for ever.
if (process.env.FAIRLEAD_LEDGER) throw new Error('npm run ledger does not run within itself')

const { values } = parseArgs({ options: { from: { type: 'string' }, break: { type: 'string' } } })

async function results() {
  if (values.from) return JSON.parse(readFileSync(values.from, 'utf8'))
  const file = `${root}/out/ledger.json`
  await run(node(), [`${root}/node_modules/vitest/vitest.mjs`, 'run', '--reporter=json', `--outputFile=${file}`], {
    output: 'keep',
    env: { FAIRLEAD_LEDGER: '1' },
  })
  return JSON.parse(readFileSync(file, 'utf8'))
}

const ids = /\b[A-P]-\d\d\b/g

/** Ids named by the title of a passed test, and of none that failed. */
function tested({ testResults }) {
  const passed = new Map()
  const failed = new Set()
  for (const { name, assertionResults } of testResults) {
    for (const { status, fullName } of assertionResults) {
      for (const [id] of fullName.matchAll(ids)) {
        if (status === 'failed') failed.add(id)
        if (status === 'passed') passed.set(id, [...(passed.get(id) ?? []), { file: name, title: fullName }])
      }
    }
  }
  for (const id of failed) passed.delete(id)
  return passed
}

const requirements = JSON.parse(readFileSync(`${root}/docs/requirements.json`, 'utf8'))
const notOurs = new Map(
  [...readFileSync(`${root}/docs/not-ours.md`, 'utf8').matchAll(/^\| ([A-P]-\d\d) \| (.+) \|$/gm)].map(
    ([, id, why]) => [id, why],
  ),
)
const passing = tested(await results())
const groups = Map.groupBy(requirements, ({ id }) => id[0])
let falls = 0
for (const [group, all] of groups) {
  const none = all.filter(({ id }) => !passing.has(id) && !notOurs.has(id)).map(({ id }) => id)
  const own = all.filter(({ id }) => passing.has(id)).length
  const others = all.filter(({ id }) => !passing.has(id) && notOurs.has(id)).length
  console.log(
    `${group}  ${own} tested / ${others} not ours / ${none.length} without${none.length ? `: ${none.join(' ')}` : ''}`,
  )
  if (WHOLE.includes(group)) falls += none.length
}
if (notOurs.size > NOT_OURS_MAX) {
  console.log(`docs/not-ours.md has ${notOurs.size} rows, more than the ${NOT_OURS_MAX} it may have`)
  falls++
}

let broken = ''
if (values.break !== undefined) {
  const hash = (await run('git', ['rev-parse', 'HEAD'], { output: 'keep' })).trim()
  const draw = (id) =>
    createHash('sha256')
      .update(hash + id)
      .digest('hex')
  const drawn = [...passing.keys()].sort((a, b) => draw(a).localeCompare(draw(b))).slice(0, Number(values.break))
  const { caught, missed } = await breakLines(drawn)
  broken = `, ${caught} of ${drawn.length} broken lines caught`
  falls += missed
}
const sum = requirements.filter(({ id }) => passing.has(id)).length
console.log(`${sum} of ${requirements.length} tested, ${notOurs.size} not ours${broken}`)
process.exitCode = falls > 0 ? 1 : 0
