// The log: each append and each read is one step on one record.
import type { Append, Appended, Key, Log, Read, ReadResult, State } from '../store.ts'
import { entriesAfter, numberOf, push, trim } from './numbered.ts'
import type { LogRecord, Records } from './records.ts'

export function memoryLog(records: Records): Log {
  function find(key: Key, at: number): LogRecord | undefined {
    const record = records.find(key, at)
    if (record !== undefined && record.kind !== 'log') throw new TypeError(`${key.tag}/${key.name} is not a log`)
    return record
  }

  return {
    async append(key, entries, options) {
      const at = records.step()
      if (options.guard !== undefined && records.find(options.guard, at) === undefined)
        return { state: 'gone', last: 0 }
      const found = find(key, at)
      const repeat = found !== undefined && wasDone(found, entries, options)
      if (!repeat) {
        if (found?.ended) return told('ended', found)
        if (options.needReader && found?.reader === undefined) return told('noReader', found)
        records.roomFor(entries, found === undefined)
      }
      const log = found ?? create(key, at, options)
      log.expires = at + options.ttlMs
      if (!repeat) write(log, entries, options)
      if (found === undefined) records.put(key.tag, log)
      else records.settle(log)
      return told('ok', log)
    },

    async read(key, reader, options) {
      const at = records.step()
      if (options.guard !== undefined && records.find(options.guard, at) === undefined) return nothing('gone')
      const log = find(key, at)
      if (log === undefined) return nothing('unknown')
      const { reader: previous, note } = log
      if (options.take === 'attach') {
        log.ticket = Math.max(at, log.ticket + 1)
        log.reader = reader
      } else if (!holds(log, reader, options)) {
        return seen('replaced', log, [])
      } else {
        log.ticket = options.ticket ?? log.ticket
        log.reader = options.take === 'next' ? reader : undefined
      }
      if (options.note !== undefined) log.note = options.note
      if (options.ttlMs !== undefined) log.expires = at + options.ttlMs
      const entries = options.take === 'leave' ? [] : entriesAfter(log, options.after ?? log.claimed, options.max)
      if (entries.length > 0) log.claimed = Math.max(log.claimed, entries.at(-1)!.n)
      const result = seen('ok', log, entries)
      if (note !== undefined) result.note = note
      if (options.take === 'attach' && previous !== undefined) result.previous = previous
      return result
    },
  }
}

/** Whether this very append is in the log already, its reply having been lost. */
function wasDone(log: LogRecord, entries: readonly string[], { token, first, end }: Append): boolean {
  if (token !== undefined) return numberOf(log, token) !== undefined
  // An end numbered by the one writer is known by what it said, since another node may have ended the log meanwhile.
  const last = log.items.at(-1)
  return (
    log.ended &&
    end === true &&
    first !== undefined &&
    last !== undefined &&
    last.n === first + entries.length - 1 &&
    last.text === entries.at(-1)
  )
}

function create({ tag, name }: Key, at: number, { first, owner, reader }: Append): LogRecord {
  const last = first === undefined ? at - 1 : first - 1
  return {
    kind: 'log',
    tag,
    name,
    expires: 0,
    weight: 0,
    items: [],
    last,
    floor: first === undefined ? 0 : last,
    bytes: 0,
    owner,
    reader,
    ticket: 0,
    claimed: 0,
    note: undefined,
    ended: false,
  }
}

function write(log: LogRecord, entries: readonly string[], { first, above, token, end, limit }: Append): void {
  // A log that has had no entry takes the numbers of the first one, so that no poke can spoil those of the one writer.
  if (first !== undefined && (log.items.length === 0 || first > log.last + 1)) {
    log.last = first - 1
    log.floor = first - 1
  }
  const skip = first === undefined ? 0 : log.last + 1 - first
  let n = Math.max(log.last, above ?? 0)
  for (let i = skip; i < entries.length; i++) {
    push(log, ++n, entries[i]!, i === entries.length - 1 ? token : undefined)
  }
  if (end) log.ended = true
  trim(log, limit.entries, limit.bytes)
}

/** Still the reader; or one with a higher ticket, which the store has lost; or one that has left, and says so again. */
function holds(log: LogRecord, reader: string, { take, ticket = log.ticket }: Read): boolean {
  if (ticket !== log.ticket) return ticket > log.ticket
  return log.reader === reader || (take === 'leave' && log.reader === undefined)
}

function told(state: State, log: LogRecord | undefined): Appended {
  const reply: Appended = { state, last: log?.last ?? 0 }
  if (log?.reader !== undefined) reply.reader = log.reader
  if (log?.owner !== undefined) reply.owner = log.owner
  return reply
}

function seen(state: State, log: LogRecord, entries: ReadResult['entries']): ReadResult {
  const { floor, last, ended, ticket, owner } = log
  const result: ReadResult = { state, entries, oldest: floor + 1, last, ended, ticket }
  if (owner !== undefined) result.owner = owner
  return result
}

function nothing(state: State): ReadResult {
  return { state, entries: [], oldest: 0, last: 0, ended: false, ticket: 0 }
}
