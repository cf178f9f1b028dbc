// `npm test`: installs, builds, runs everything. FAIRLEAD_FULL=1 runs it at full size, as `npm run prove` does.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { checkPackages } from './check-packages.mjs'
import { main, node, root, run } from './run.mjs'
import { setup } from './setup.mjs'
import { createTally, script } from './tally.mjs'

const bin = (name) => `${root}/node_modules/.bin/${name}`

/** Runs Vitest and adds its tests one by one; a file that could not be run counts as failed. */
async function vitest(tally) {
  const report = `${root}/out/vitest.json`
  rmSync(report, { force: true })
  mkdirSync(`${root}/out`, { recursive: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  let failure
  await run(bin('vitest'), ['run', ...reporters], { env: { FAIRLEAD_WHOLE: '1' } }).catch((error) => {
    failure = error
  })
  if (!existsSync(report)) throw failure ?? new Error('Vitest wrote no report')
  const files = JSON.parse(readFileSync(report, 'utf8')).testResults
  const tests = files.flatMap(({ assertionResults }) => assertionResults)
  const named = (status) => tests.filter((test) => test.status === status).map(({ fullName }) => fullName)
  const broken = files.filter((file) => file.status === 'failed' && !file.assertionResults.some(isFailed))
  const failed = [...named('failed'), ...broken.map(({ name }) => name.replace(`${root}/`, ''))]
  tally.add(named('passed').length, failed)
  for (const name of [...named('pending'), ...named('skipped'), ...named('todo')]) console.log(`not run: ${name}`)
  if (failure && failed.length === 0) throw failure
  if (tests.length === 0) throw new Error('Vitest ran no test')
  return `${tests.length} tests in ${files.length} files`
}

const isFailed = ({ status }) => status === 'failed'

/** Everything that `npm test` runs. The tally is the caller's to close. */
export async function testAll(tally) {
  await tally.step('install and build', () => setup())
  if (tally.failures.length > 0) return
  await tally.step('format and lint', async () => {
    await run(bin('biome'), ['check', '--error-on-warnings', '.'], { output: 'keep' })
  })
  await tally.step('types of tests, fixtures, examples', async () => {
    for (const project of ['packages/core/test-support', 'bench', 'tsconfig.test.json']) {
      await run(bin('tsc'), ['-p', project])
    }
  })
  await tally.step('tests', () => vitest(tally))
  await tally.step('ledger', () => run(node(), [`${root}/scripts/ledger.mjs`, '--from', `${root}/out/vitest.json`]))
  await tally.step('each era without the other', () => script('check-eras'))
  await tally.step('sizes', () => script('sizes'))
  await tally.step('conformance', () => script('conformance'))
  await tally.step('packages', checkPackages)
  await tally.step('unused files, exports, dependencies', async () => {
    await run(bin('knip'), [], { output: 'keep' })
  })
}

await main(import.meta.url, async () => {
  const tally = createTally()
  await testAll(tally)
  tally.close()
})
