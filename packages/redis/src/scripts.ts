// Steps that are more than one command: Lua scripts, each of which is passed all the keys that it touches.
import { createHash } from 'node:crypto'
import type { Client } from './source.ts'

export interface Script {
  readonly lua: string
  readonly sha: string
}

export type Argument = string | number

export function script(lua: string): Script {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') }
}

/** By its digest; with its text where the server has not seen it, or has been restarted. */
export async function evaluate(
  client: Client,
  { lua, sha }: Script,
  keys: readonly string[],
  args: readonly Argument[],
): Promise<unknown> {
  try {
    return await client.evalsha(sha, keys.length, ...keys, ...args)
  } catch (error) {
    // It has not been run, so this repeats nothing.
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
    return await client.eval(lua, keys.length, ...keys, ...args)
  }
}

/** A life as Redis takes it: whole ms, at least one. */
export function life(ms: number): number {
  return Math.max(1, Math.ceil(ms))
}

/** For counts: what Redis takes as a whole number. */
export function count(n: number): number {
  return Math.min(Math.max(0, Math.floor(n)), 1_000_000_000)
}
