// The build of the previous commit, in a folder of its own, with this checkout's dependencies.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

export type Previous = { commit: string; why?: undefined } | { commit?: undefined; why: string }

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}

function commitOf(revision: string): string | undefined {
  try {
    return git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`)
  } catch {
    return undefined
  }
}

/** The commit whose release this one follows; or why there is none. What is not committed yet follows HEAD. */
export function previousCommit(): Previous {
  if (!commitOf('HEAD')) return { why: 'this is no checkout with history' }
  const hasChanges = git('status', '--porcelain', '--', 'packages', 'fixtures') !== ''
  const commit = commitOf(hasChanges ? 'HEAD' : 'HEAD^')
  if (!commit) return { why: 'there is no commit before this one, or the clone is shallow' }
  try {
    git('cat-file', '-e', `${commit}:packages/redis/src/index.ts`)
  } catch {
    return { why: `${commit.slice(0, 7)} has no @fairlead/redis` }
  }
  return { commit }
}

/** Gives its folder. Remove it. */
export function buildOf(commit: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-previous-'))
  try {
    const tar = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 1 << 28 })
    execFileSync('tar', ['-x', '-C', folder], { input: tar })
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    // Links between packages are relative, so copies of them lead to the packages of that folder.
    for (const links of globSync('{packages/*,fixtures}/node_modules', { cwd: ROOT })) {
      if (!existsSync(join(folder, dirname(links)))) continue
      mkdirSync(join(folder, links), { recursive: true })
      cpSync(join(ROOT, links), join(folder, links), { recursive: true, verbatimSymlinks: true })
    }
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    execFileSync(process.execPath, [tsc, '-b', ...globSync('packages/*/tsconfig.json', { cwd: folder })], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    })
    return folder
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    const { stdout, message } = error as { stdout?: string; message: string }
    throw new Error(`${commit.slice(0, 7)} could not be built: ${message}\n${stdout ?? ''}`)
  }
}
