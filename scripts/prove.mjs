// `npm run prove`: the promises of `npm test` at full size; writes docs/proof.md with commit, machine and figures.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import { main, node, root } from './run.mjs'
import { createTally, script } from './tally.mjs'
import { testAll } from './test.mjs'

/** What is proved by a command of its own, and the issue that brings those which are not there yet. */
const COMMANDS = [
  { name: 'bench', args: [] },
  { name: 'ledger', args: [], issue: 3 },
  { name: 'fuzz', args: ['--runs', '1000000'], issue: 9 },
  { name: 'chaos', args: ['--seconds', '120'], issue: 11 },
  { name: 'soak', args: ['--minutes', '20'], issue: 11 },
]

const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()

function page(tally, missing, started) {
  const [cpu] = cpus()
  const version = execFileSync(node(), ['--version'], { encoding: 'utf8' }).trim()
  const dirty = git('status', '--porcelain', '--', ':!docs/proof.md') ? ', with changes that are not committed' : ''
  const rows = tally.figures.map(
    ({ name, line, seconds, failed }) => `| ${name} | ${failed ? 'FAILED' : 'passed'} | ${line} | ${seconds} |`,
  )
  return `# Proof

Written by \`npm run prove\`; not edited by hand.

- commit: ${git('rev-parse', 'HEAD')}${dirty}
- begun: ${started.toISOString()}
- machine: ${cpus().length} x ${cpu?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${release()} ${arch()}
- Node ${version}

| promise | outcome | figure | seconds |
| --- | --- | --- | --- |
${rows.join('\n')}

${missing.length > 0 ? `Not proved, since not built yet: ${missing.map(({ name, issue }) => `${name} (issue ${issue})`).join(', ')}.\n` : ''}`
}

await main(import.meta.url, async () => {
  const started = new Date()
  process.env.FAIRLEAD_FULL = '1'
  const tally = createTally()
  await testAll(tally)
  const ready = COMMANDS.filter(({ name, issue }) => !issue && existsSync(`${root}/scripts/${name}.mjs`))
  for (const { name, args } of ready) {
    await tally.step(name, () => script(name, ...args))
  }
  const missing = COMMANDS.filter(({ issue }) => issue)
  writeFileSync(`${root}/docs/proof.md`, page(tally, missing, started))
  tally.close()
})
