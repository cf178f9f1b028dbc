// Breaks the line that fulfils a requirement, in a copy of the tree, and sees that the test that names it fails.
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { node, root, run } from '../run.mjs'
import { BREAKS } from './breaks.mjs'

/** A copy of the workspace whose sources may be broken; what is installed is shared with it. */
function copyTree() {
  const copy = mkdtempSync(join(tmpdir(), 'fairlead-break-'))
  const skip = new Set(['node_modules', 'dist', '.git', 'out'])
  cpSync(root, copy, { recursive: true, filter: (from) => !skip.has(from.slice(from.lastIndexOf('/') + 1)) })
  const link = (folder) => {
    const installed = join(root, folder, 'node_modules')
    if (existsSync(installed)) symlinkSync(installed, join(copy, folder, 'node_modules'))
  }
  for (const folder of [
    '',
    'fixtures',
    'runtime-tests',
    'bench',
    ...readdirSync(`${root}/packages`).map((name) => `packages/${name}`),
  ])
    link(folder)
  return copy
}

/** @param {string[]} ids @returns {Promise<{ caught: number; missed: number }>} */
export async function breakLines(ids) {
  const copy = copyTree()
  let caught = 0
  try {
    for (const id of ids) {
      const entry = BREAKS[id]
      if (!entry) {
        console.log(`${id}  no line is named for it in scripts/ledger/breaks.mjs`)
        continue
      }
      const { file, line, instead, test } = entry
      const path = join(copy, file)
      const whole = readFileSync(path, 'utf8')
      if (whole.split(line).length !== 2) {
        console.log(`${id}  ${file} has not just one line: ${line}`)
        continue
      }
      writeFileSync(
        path,
        whole.replace(line, () => instead),
      )
      const args = [`${copy}/node_modules/vitest/vitest.mjs`, 'run', test, '--testNamePattern', `\\b${id}\\b`]
      const isCaught = await run(node(), args, { output: 'keep', cwd: copy, silent: true }).then(
        () => false,
        () => true,
      )
      writeFileSync(path, whole)
      console.log(
        `${id}  ${isCaught ? 'caught' : 'NOT caught'}: ${file}: ${line.trim()} -> ${instead.trim() || 'nothing'}`,
      )
      if (isCaught) caught++
    }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
  return { caught, missed: ids.length - caught }
}
