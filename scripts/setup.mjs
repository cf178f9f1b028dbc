// Installs with the pinned pnpm, without corepack, and builds. Needs only Node and npm; a second run takes a second.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { build } from './build.mjs'
import { root, run } from './run.mjs'

const stamp = `${root}/node_modules/.fairlead-setup`

/** The lockfile and every manifest of the workspace, as one digest: install again only when one of them has changed. */
function wanted() {
  const hash = createHash('sha256')
  for (const file of ['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml'])
    hash.update(readFileSync(`${root}/${file}`))
  return hash.digest('hex')
}

export async function setup() {
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted()) {
    const { packageManager } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
    await run('npx', ['--yes', packageManager, 'install', '--frozen-lockfile'], { quiet: true })
    writeFileSync(stamp, wanted())
  }
  await build()
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) await setup()
