// Installs with the pinned pnpm, without corepack, and builds. Needs only Node and npm; a second run takes a second.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from './build.mjs'
import { main, root, run } from './run.mjs'

const stamp = `${root}/node_modules/.fairlead-setup`

/** Set for the children of a command that has done the set-up, so that they do not look again. */
const DONE = 'FAIRLEAD_READY'

/** The lockfile and every manifest of the workspace, as one digest: install again only when one of them has changed. */
function wanted() {
  const members = ['packages', 'examples'].flatMap((folder) =>
    readdirSync(`${root}/${folder}`).map((name) => `${folder}/${name}`),
  )
  const manifests = ['.', 'bench', 'fixtures', 'runtime-tests', ...members].map((folder) => `${folder}/package.json`)
  const hash = createHash('sha256')
  for (const file of ['pnpm-workspace.yaml', 'pnpm-lock.yaml', ...manifests.sort()]) {
    if (existsSync(`${root}/${file}`)) hash.update(file).update(readFileSync(`${root}/${file}`))
  }
  return hash.digest('hex')
}

/** Two commands that start at once set up one after the other. A lock whose process is gone does not count. */
async function alone(work) {
  const lock = `${tmpdir()}/fairlead-setup-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      if (!(await isHeld(lock))) rmSync(lock, { recursive: true, force: true })
      else await sleep(100)
    }
  }
  try {
    writeFileSync(`${lock}/pid`, String(process.pid))
    return await work()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

async function isHeld(lock) {
  // Its pid is written just after it was made.
  for (let tries = 0; tries < 10 && !existsSync(`${lock}/pid`); tries++) await sleep(50)
  try {
    process.kill(Number(readFileSync(`${lock}/pid`, 'utf8')), 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** @param {'show' | 'stderr' | 'keep'} output */
export async function setup(output = 'show') {
  if (process.env[DONE] === root) return
  await alone(async () => {
    if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted()) {
      process.stderr.write('Installing what is pinned in pnpm-lock.yaml ...\n')
      const { packageManager } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
      // No terminal to ask: a node_modules of another pnpm is made anew.
      const env = { CI: 'true' }
      await run('npx', ['--yes', packageManager, 'install', '--frozen-lockfile'], { output: 'keep', env })
      writeFileSync(stamp, wanted())
    }
    await build(output)
  })
  process.env[DONE] = root
}

await main(import.meta.url, () => setup())
