// What every store promises of log.read.
import { nanoid } from 'nanoid'
import type { Key, Read, Store } from '../store.ts'
import { beside, between, check, pause, same } from './check.ts'
import { attach, type Case, contents, LONG_MS, leave, many, next, numbers, one, poke, some, texts } from './scene.ts'

export const readCases: readonly Case[] = [
  {
    name: 'read: unknown where there is no log, and none is made',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      const reads: Read[] = [
        attach({ ttlMs: LONG_MS, note: 'n' }),
        next(1, 0, { ttlMs: LONG_MS }),
        leave(1, { note: 'n' }),
      ]
      for (const read of reads) {
        const { state, entries } = await a.log.read(g, 'r', read)
        same([state, entries], ['unknown', []], read.take)
      }
      same(await b.kv.ttl(g), 0, 'life')
    },
  },
  {
    name: 'read: gone without its guard, and nothing is changed',
    async run({ a, b, keys }) {
      const { guard, g } = keys('guard', 'g')
      await a.log.append(g, ['x'], many({ ttlMs: 20_000, reader: 'r' }))
      const reads: Read[] = [attach({ guard, ttlMs: LONG_MS, note: 'n' }), next(1e15, 0, { guard, ttlMs: LONG_MS })]
      for (const read of [...reads, leave(1e15, { guard, note: 'n' })]) {
        const { state, entries } = await b.log.read(g, 'other', read)
        same([state, entries], ['gone', []], read.take)
      }
      between(await a.kv.ttl(g), 1, 20_000, 'life')
      same((await a.log.append(g, [], poke({ ttlMs: 20_000 }))).reader, 'r', 'the reader')
      const read = await b.log.read(g, 'r2', attach())
      same([texts(read), read.note, read.previous], [['x'], undefined, 'r'], 'what the next reader gets')
    },
  },
  {
    name: 'read: attach gives what is there, who was before, its note, the owner and whether it has ended',
    async run({ a, b, keys }) {
      const { call } = keys('call')
      await a.log.append(call, ['1', '2'], one(1, { owner: 'node-1', reader: 'node-1' }))
      const first = await b.log.read(call, 'node-2', attach({ after: 0, note: 'e5' }))
      check(first.ticket > 0, 'a ticket')
      const entries = [1, 2].map((n) => ({ n, text: `${n}` }))
      const told = { state: 'ok', oldest: 1, last: 2, ended: false, owner: 'node-1' }
      same(first, { ...told, entries, ticket: first.ticket, previous: 'node-1' }, 'first attach')
      same((await a.log.append(call, ['3'], one(3, { end: true }))).reader, 'node-2', 'the reader')
      const second = await a.log.read(call, 'node-3', attach({ after: 1, note: 'e6' }))
      check(second.ticket > first.ticket, 'a higher ticket')
      const rest = { entries: [entries[1], { n: 3, text: '3' }], last: 3, ended: true }
      same(second, { ...told, ...rest, ticket: second.ticket, previous: 'node-2', note: 'e5' }, 'second attach')
      same((await b.log.read(call, 'node-4', attach())).note, 'e6', 'the note at a third attach')
    },
  },
  {
    name: 'read: attach without a cursor starts where readers have claimed',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      await a.log.append(g, some(6), many())
      const first = await b.log.read(g, 'r1', attach({ max: 2 }))
      same(texts(first), ['t0', 't1'], 'first attach')
      const second = await a.log.read(g, 'r2', attach({ max: 2 }))
      same(texts(second), ['t2', 't3'], 'second attach')
      const rest = await a.log.read(g, 'r2', next(second.ticket, second.entries[1]!.n, { max: 1 }))
      same(texts(rest), ['t4'], 'read on')
      const third = await b.log.read(g, 'r3', attach({ after: first.entries[0]!.n, max: 2 }))
      same(texts(third), ['t1', 't2'], 'with a cursor of its own')
      same(texts(await a.log.read(g, 'r4', attach())), ['t5'], 'claimed has not gone back')
      same(texts(await b.log.read(g, 'r5', attach())), [], 'nothing is left')
    },
  },
  {
    name: 'read: next gives what comes after the cursor, again and again',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      await a.log.append(g, [], poke())
      const { ticket, last } = await b.log.read(g, 'r', attach())
      same((await b.log.read(g, 'r', next(ticket, last))).entries, [], 'nothing yet')
      await a.log.append(g, some(5), many())
      const first = await b.log.read(g, 'r', next(ticket, last, { max: 3 }))
      same(texts(first), ['t0', 't1', 't2'], 'three of them')
      same(texts(await b.log.read(g, 'r', next(ticket, last, { max: 3 }))), ['t0', 't1', 't2'], 'the same cursor again')
      const second = await b.log.read(g, 'r', next(ticket, first.entries[2]!.n))
      same(texts(second), ['t3', 't4'], 'the others')
      same(
        [second.state, second.ticket, second.last, second.ended],
        ['ok', ticket, second.entries[1]!.n, false],
        'told',
      )
      same(numbers(second), [first.entries[2]!.n + 1, first.entries[2]!.n + 2], 'their numbers')
    },
  },
  {
    name: 'read: the newest reader wins; the one before gets nothing more and claims nothing',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      await a.log.append(g, ['t0'], many())
      const old = await a.log.read(g, 'r1', attach())
      const { ticket } = await b.log.read(g, 'r2', attach({ note: 'mine' }))
      await a.log.append(g, ['t1'], many({ ttlMs: 20_000 }))
      const refused = await a.log.read(g, 'r1', next(old.ticket, 0, { note: 'late', ttlMs: LONG_MS }))
      same([refused.state, refused.entries], ['replaced', []], 'next by the old one')
      same((await a.log.read(g, 'r1', leave(old.ticket, { note: 'late' }))).state, 'replaced', 'leave by the old one')
      between(await a.kv.ttl(g), 1, 20_000, 'life')
      same((await a.log.append(g, [], poke())).reader, 'r2', 'the reader')
      same(texts(await b.log.read(g, 'r2', next(ticket, old.last))), ['t1'], 'what the new one gets')
      const third = await a.log.read(g, 'r3', attach())
      same([third.previous, third.note], ['r2', 'mine'], 'what the third hears of the second')
    },
  },
  {
    name: 'read: a reader that attaches again replaces itself: the ticket counts, not the name',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      await a.log.append(g, ['t0'], many())
      const old = await a.log.read(g, 'node-1', attach())
      const young = await a.log.read(g, 'node-1', attach())
      same(young.previous, 'node-1', 'previous')
      await b.log.append(g, ['t1'], many())
      same((await a.log.read(g, 'node-1', next(old.ticket, 0))).state, 'replaced', 'next with the old ticket')
      same((await a.log.read(g, 'node-1', leave(old.ticket))).state, 'replaced', 'leave with the old ticket')
      same(texts(await a.log.read(g, 'node-1', next(young.ticket, young.last))), ['t1'], 'next with the new one')
      same((await b.log.read(g, 'node-2', next(young.ticket, 0))).state, 'replaced', 'another with the same ticket')
    },
  },
  {
    name: 'read: of many that attach at once, the one with the highest ticket is the reader',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      await a.log.append(g, ['t0'], many())
      const readers = some(8, 'r')
      const tickets = await Promise.all(
        readers.map(async (reader, i) => (await (i % 2 ? a : b).log.read(g, reader, attach())).ticket),
      )
      same(new Set(tickets).size, tickets.length, 'tickets that differ')
      const highest = Math.max(...tickets)
      const states = await Promise.all(
        readers.map(async (reader, i) => (await (i % 2 ? b : a).log.read(g, reader, next(tickets[i]!, 0))).state),
      )
      same(
        states,
        tickets.map((ticket) => (ticket === highest ? 'ok' : 'replaced')),
        'who may read on',
      )
      same((await a.log.append(g, [], poke())).reader, readers[tickets.indexOf(highest)], 'the reader')
    },
  },
  {
    name: 'read: leave keeps the note, gives nothing, and does no harm twice',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      await a.log.append(g, ['t0'], many({ ttlMs: 20_000 }))
      const { ticket, last } = await b.log.read(g, 'r', attach({ note: 'early', max: 0 }))
      for (let i = 0; i < 2; i++) {
        const left = await b.log.read(g, 'r', leave(ticket, { note: 'place', ttlMs: LONG_MS }))
        same([left.state, left.entries], ['ok', []], 'leave')
      }
      between(await a.kv.ttl(g), 20_001, LONG_MS, 'its new life')
      same((await b.log.read(g, 'r', next(ticket, 0))).state, 'replaced', 'next after leaving')
      same((await a.log.append(g, [], poke())).reader, undefined, 'the reader')
      const after = await a.log.read(g, 'r2', attach())
      same(
        [texts(after), after.note, after.previous, after.last],
        [['t0'], 'place', undefined, last],
        'the next attach',
      )
      same((await b.log.read(g, 'r', leave(ticket, { note: 'late' }))).state, 'replaced', 'leave once more, by then')
      same((await a.log.append(g, [], poke())).reader, 'r2', 'the reader after that')
    },
  },
  {
    name: 'read: next keeps a note and renews; without ttlMs a life is left alone',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      await a.log.append(g, ['t0'], many({ ttlMs: 20_000 }))
      const { ticket } = await b.log.read(g, 'r', attach())
      await b.log.read(g, 'r', next(ticket, 0, { note: 'place' }))
      between(await a.kv.ttl(g), 1, 20_000, 'life')
      await b.log.read(g, 'r', next(ticket, 0, { ttlMs: LONG_MS }))
      between(await a.kv.ttl(g), 20_001, LONG_MS, 'its new life')
      same((await a.log.read(g, 'r2', attach({ ttlMs: 20_000 }))).note, 'place', 'the note')
      between(await a.kv.ttl(g), 1, 20_000, 'its new, shorter life')
    },
  },
  {
    name: 'read: a reader that the store has lost puts itself back, unless there is a newer one',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      await a.log.append(g, ['t0'], many())
      const old = await a.log.read(g, 'r1', attach())
      const young = await b.log.read(g, 'r2', attach())
      await a.kv.delete([g])
      same((await b.log.read(g, 'r2', next(young.ticket, 0))).state, 'unknown', 'next without a log')
      const made = await a.log.append(g, ['t1'], many())
      same(made.reader, undefined, 'the reader of the new log')
      const back = await b.log.read(g, 'r2', next(young.ticket, 0))
      same([back.state, back.ticket, texts(back)], ['ok', young.ticket, ['t1']], 'next')
      same((await a.log.read(g, 'r1', next(old.ticket, 0))).state, 'replaced', 'next by the one before')
      same((await a.log.append(g, [], poke())).reader, 'r2', 'the reader')
      check((await a.log.read(g, 'r3', attach())).ticket > young.ticket, 'the next ticket is higher')
    },
  },
  {
    name: 'read: what is no longer there shows in oldest',
    async run({ a, b, keys }) {
      const { call } = keys('call')
      for (let n = 1; n <= 5; n++) await a.log.append(call, [`${n}`], one(n, { limit: { entries: 2, bytes: 1000 } }))
      const read = await b.log.read(call, 'r', attach({ after: 1 }))
      same([numbers(read), read.oldest, read.last], [[4, 5], 4, 5], 'with an old cursor')
      const beyond = await b.log.read(call, 'r', attach({ after: 9 }))
      same([beyond.entries, beyond.oldest, beyond.last], [[], 4, 5], 'with a cursor beyond last')
      await a.log.append(call, ['6', '7', '8', '9', '10'], one(6))
      same(numbers(await b.log.read(call, 'r', next(beyond.ticket, 9))), [10], 'what is after that cursor')
    },
  },
  {
    name: 'read: a log that has ended is still read',
    async run({ a, b, keys }) {
      const { call } = keys('call')
      await a.log.append(call, ['1'], one(1))
      const { ticket } = await b.log.read(call, 'r', attach())
      await a.log.append(call, ['2'], one(2, { end: true }))
      const rest = await b.log.read(call, 'r', next(ticket, 1))
      same([rest.state, texts(rest), rest.ended], ['ok', ['2'], true], 'next')
      const whole = await a.log.read(call, 'r2', attach({ after: 0, max: 1 }))
      same([whole.state, texts(whole), whole.ended], ['ok', ['1'], true], 'attach, with more to come')
    },
  },
  {
    name: 'S18 read: readers that take over with the cursor of the client lose and double nothing',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      await a.log.append(g, [], poke())
      const got: string[] = []
      let current = ''
      let cursor = (await contents(a, g)).last
      let written = false
      /** A connection: it takes what it reads to the client, as long as that one listens to it. */
      const connection = async (store: Store) => {
        const reader = nanoid()
        current = reader
        let read = await store.log.read(g, reader, attach({ after: cursor, max: 7 }))
        for (;;) {
          if (current !== reader || read.state !== 'ok') return
          for (const { n, text } of read.entries) {
            got.push(text)
            check(got.length <= 2 * EACH, 'an entry came twice')
            cursor = n
          }
          const complete = written
          if (read.entries.length === 0) await pause(1)
          read = await store.log.read(g, reader, next(read.ticket, cursor, { max: 7 }))
          if (complete && cursor === read.last) return
        }
      }
      const writers = beside(
        Promise.all([writer(a, g, 'a'), writer(b, g, 'b')]).then(() => {
          written = true
        }),
      )
      const connections: Promise<void>[] = []
      for (let i = 0; i < 12 || !written; i++) {
        connections.push(beside(connection(i % 2 ? a : b)))
        await pause(3)
      }
      await Promise.all([writers, ...connections])
      sameStream(got)
    },
  },
  {
    name: 'S18 read: readers that take over without a cursor lose and double nothing',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      await a.log.append(g, [], poke())
      const got: string[] = []
      let written = false
      const writers = beside(
        Promise.all([writer(a, g, 'a'), writer(b, g, 'b')]).then(() => {
          written = true
        }),
      )
      for (let turn = 0, quiet = 0; quiet < 2; turn++) {
        quiet = written ? quiet + 1 : 0
        const store = turn % 2 ? a : b
        let read = await store.log.read(g, `r${turn}`, attach({ max: 5 }))
        for (let i = 0; i < 3; i++) {
          got.push(...texts(read))
          check(got.length <= 2 * EACH, 'an entry came twice')
          const cursor = read.entries.at(-1)?.n
          if (cursor === undefined) break
          quiet = 0
          read = await store.log.read(g, `r${turn}`, next(read.ticket, cursor, { max: 5 }))
        }
        got.push(...texts(read))
      }
      await writers
      sameStream(got)
    },
  },
]

const EACH = 60

async function writer(store: Store, key: Key, name: string): Promise<void> {
  for (const text of some(EACH, name)) await store.log.append(key, [text], many())
}

/** All of what two writers wrote, each in its order. */
function sameStream(got: string[]): void {
  for (const name of ['a', 'b']) {
    same(
      got.filter((text) => text.startsWith(name)),
      some(EACH, name),
      `what arrived of ${name}`,
    )
  }
}
