// Breaks the line that fulfils a requirement, in a copy of the tree, and sees that the test that names it fails.
//   node scripts/ledger/break.mjs --ids A-01,G-07    the lines of these
//   node scripts/ledger/break.mjs --all              every line that is named in breaks.mjs
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { parseArgs } from 'node:util'
import { main, node, root } from '../run.mjs'
import { BREAKS } from './breaks.mjs'

/** A test that waits for what the broken line no longer brings ends then. */
const TEST_MS = 5000
/** A run that does not end by itself shows nothing. */
const RUN_MS = 60_000
const NEEDS_REDIS = /^(?:packages\/redis|runtime-tests\/(?:fleet|redis))\//
const SKIPPED = new Set(['node_modules', 'dist', '.git', 'out', 'results'])

/** A copy of the workspace whose sources may be broken; what is installed is shared with it. */
function copyTree() {
  const copy = mkdtempSync(join(tmpdir(), 'fairlead-break-'))
  cpSync(root, copy, { recursive: true, filter: (from) => !SKIPPED.has(from.slice(from.lastIndexOf(sep) + 1)) })
  const packages = readdirSync(join(root, 'packages')).map((name) => join('packages', name))
  for (const folder of ['.', 'fixtures', 'runtime-tests', 'bench', ...packages]) {
    const installed = join(root, folder, 'node_modules')
    if (existsSync(installed)) symlinkSync(installed, join(copy, folder, 'node_modules'))
  }
  return copy
}

/** Runs to the end, or for as long as it may. */
function runVitest(copy, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(node(), [join(copy, 'node_modules/vitest/vitest.mjs'), 'run', ...args], {
      cwd: copy,
      // The tests' small size; and none of them may start a ledger of its own.
      env: { ...process.env, FAIRLEAD_LEDGER: '1', FAIRLEAD_FULL: '', FAIRLEAD_WHOLE: '' },
      stdio: 'ignore',
      detached: true,
    })
    const late = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), RUN_MS)
    child.on('error', reject)
    child.on('close', () => {
      clearTimeout(late)
      resolve()
    })
  })
}

/** How the tests of a file end whose titles name one of the ids. */
async function outcomes(copy, file, ids, more = []) {
  const report = join(copy, 'break.json')
  rmSync(report, { force: true })
  await runVitest(copy, [
    file,
    ...['--testNamePattern', `\\b(?:${ids.join('|')})\\b`],
    ...['--reporter=json', '--outputFile', report, '--testTimeout', String(TEST_MS)],
    ...(NEEDS_REDIS.test(file) ? [] : ['--config', join(copy, 'scripts/ledger/vitest.config.mjs')]),
    ...more,
  ])
  if (!existsSync(report)) return []
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  return testResults.flatMap(({ assertionResults }) => assertionResults)
}

const namesIt = (id) => {
  const word = new RegExp(`\\b${id}\\b`)
  return ({ fullName }) => word.test(fullName)
}

/** Ids whose tests pass as long as nothing is broken: only then a failure says something. */
async function passing(copy, ids) {
  const found = new Set()
  for (const [file, own] of Map.groupBy(ids, (id) => BREAKS[id].test)) {
    const all = await outcomes(copy, file, own)
    for (const id of own) {
      const named = all.filter(namesIt(id))
      const failed = named.some(({ status }) => status === 'failed')
      if (!failed && named.some(({ status }) => status === 'passed')) found.add(id)
    }
  }
  return found
}

/** Breaks one line, sees whether a test that names the id fails, and mends it. */
async function isCaught(copy, id) {
  const { file, line, instead, test } = BREAKS[id]
  const path = join(copy, file)
  const whole = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    whole.replace(line, () => instead),
  )
  try {
    const all = await outcomes(copy, test, [id], ['--bail', '1'])
    return all.filter(namesIt(id)).some(({ status }) => status === 'failed')
  } finally {
    writeFileSync(path, whole)
  }
}

/** What is wrong with an entry, before anything is run. */
function faultOf(id) {
  if (!BREAKS[id]) return 'no line is named for it in scripts/ledger/breaks.mjs'
  const { file, line, test } = BREAKS[id]
  for (const one of [file, test]) if (!existsSync(join(root, one))) return `there is no ${one}`
  const times = readFileSync(join(root, file), 'utf8').split(line).length - 1
  return times === 1 ? undefined : `${file} has this ${times} times, not once: ${line}`
}

/** @param {string[]} ids @returns {Promise<{ caught: number; missed: number }>} */
export async function breakLines(ids) {
  const faults = new Map(ids.map((id) => [id, faultOf(id)]))
  const copy = copyTree()
  let caught = 0
  try {
    const sound = await passing(
      copy,
      ids.filter((id) => !faults.get(id)),
    )
    for (const id of ids) {
      const fault = faults.get(id)
      if (fault) {
        console.log(`${id}  ${fault}`)
        continue
      }
      const { file, line, instead, test } = BREAKS[id]
      if (!sound.has(id)) {
        console.log(`${id}  no test that names it passes in ${test}`)
        continue
      }
      const word = (await isCaught(copy, id)) ? 'caught' : 'NOT caught'
      const inOneLine = (text) => text.trim().replace(/\s*\n\s*/g, ' ')
      console.log(`${id}  ${word}: ${file}: ${inOneLine(line)} -> ${inOneLine(instead) || 'nothing'}`)
      if (word === 'caught') caught++
    }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
  return { caught, missed: ids.length - caught }
}

await main(import.meta.url, async () => {
  const { values } = parseArgs({ options: { ids: { type: 'string' }, all: { type: 'boolean' } } })
  const ids = values.all ? Object.keys(BREAKS) : values.ids?.split(',')
  if (!ids) throw new Error('say which: --ids A-01,G-07, or --all')
  const { caught } = await breakLines(ids)
  console.log(`${caught} of ${ids.length} broken lines caught`)
  process.exitCode = caught === ids.length ? 0 : 1
})
