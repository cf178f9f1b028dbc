// A program in Node that this process started: it does not outlive it.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'

export type Child = ChildProcessByStdio<null, Readable, Readable>

export function startNode(args: readonly string[]): Child {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = () => child.kill('SIGKILL')
  process.on('exit', kill)
  child.on('close', () => process.off('exit', kill))
  return child
}
