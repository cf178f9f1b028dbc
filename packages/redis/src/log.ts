// The log: one hash for each, one script for each step.
import type { Appended, Entry, Log, ReadResult, State } from '@fairlead/core'
import type { Commands } from './commands.ts'
import type { Names } from './keys.ts'
import { APPEND, READ } from './log-scripts.ts'
import { type Argument, count, evaluate, life } from './scripts.ts'

type AppendReply = [state: State, last: number, reader: string | null, owner: string | null]

type ReadReply = [
  state: State,
  oldest: number,
  last: number,
  ended: string | null,
  ticket: number,
  owner: string | null,
  previous: string | null,
  note: string | null,
  ...entries: (number | string)[],
]
/** Where the entries begin in it. */
const ENTRIES = 8

export function redisLog(commands: Commands, names: () => Names): Log {
  return {
    append(key, entries, { guard, ttlMs, limit, first, token, above, owner, reader, end, needReader }) {
      const { record } = names()
      const keys = guard === undefined ? [record(key)] : [record(key), record(guard)]
      const args: Argument[] = [
        life(ttlMs),
        count(limit.entries),
        count(limit.bytes),
        first ?? '',
        above ?? '',
        token ?? '',
        owner ?? '',
        reader ?? '',
        end ? 1 : 0,
        needReader ? 1 : 0,
        ...entries,
      ]
      // What has neither number nor token can't be told from its repeat.
      const repeatable = first !== undefined || token !== undefined || entries.length === 0
      return commands.run(async (client) => appended((await evaluate(client, APPEND, keys, args)) as AppendReply), {
        repeatable,
      })
    },

    read(key, reader, { guard, take, ticket, after, note, max, ttlMs }) {
      const { record } = names()
      const keys = guard === undefined ? [record(key)] : [record(key), record(guard)]
      const args: Argument[] = [
        take,
        reader,
        ticket ?? '',
        after ?? '',
        note === undefined ? '' : `=${note}`,
        count(max),
        ttlMs === undefined ? '' : life(ttlMs),
      ]
      // An attach done twice would replace itself.
      return commands.run(async (client) => seen((await evaluate(client, READ, keys, args)) as ReadReply), {
        repeatable: take !== 'attach',
      })
    },
  }
}

function appended([state, last, reader, owner]: AppendReply): Appended {
  const reply: Appended = { state, last }
  if (typeof reader === 'string') reply.reader = reader
  if (typeof owner === 'string') reply.owner = owner
  return reply
}

function seen(reply: ReadReply): ReadResult {
  const [state, oldest = 0, last = 0, ended, ticket = 0, owner, previous, note] = reply
  const entries: Entry[] = []
  for (let i = ENTRIES; i < reply.length; i += 2) entries.push({ n: reply[i] as number, text: reply[i + 1] as string })
  const result: ReadResult = { state, entries, oldest, last, ended: typeof ended === 'string', ticket }
  if (typeof owner === 'string') result.owner = owner
  if (typeof previous === 'string') result.previous = previous
  if (typeof note === 'string') result.note = note
  return result
}
