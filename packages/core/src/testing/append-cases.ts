// What every store promises of log.append.
import { nanoid } from 'nanoid'
import { between, check, eventually, same } from './check.ts'
import {
  AMPLE,
  attach,
  type Case,
  contents,
  LONG_MS,
  leave,
  many,
  next,
  numbers,
  one,
  poke,
  SHORT_MS,
  some,
  texts,
} from './scene.ts'

export const appendCases: readonly Case[] = [
  {
    name: 'append: the store numbers, from its clock up, one by one, for all writers',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      const one = await a.log.append(g, ['a'], many())
      same(one.state, 'ok', 'state')
      between(one.last, a.now() - 60_000, a.now() + 60_000, 'first number')
      same((await b.log.append(g, ['b', 'c'], many())).last, one.last + 2, 'last after a batch of two')
      same((await a.log.append(g, ['d'], many())).last, one.last + 3, 'last after one more')
      const read = await contents(b, g)
      same(
        read.entries,
        ['a', 'b', 'c', 'd'].map((text, i) => ({ n: one.last + i, text })),
        'entries',
      )
      same([read.last, read.ended], [one.last + 3, false], 'last, ended')
      check(read.oldest <= one.last, 'nothing is missing from the first entry on')
    },
  },
  {
    name: 'append: texts come back as they were',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      const all = ['', 'né 世界 🧵\n\0"\\', 'x'.repeat(200_000), '{"jsonrpc":"2.0"}']
      await a.log.append(g, all, many())
      same(texts(await contents(b, g)), all, 'texts')
    },
  },
  {
    name: 'append: a repeat finds its token, also as a batch and after others',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      const batch = many()
      const first = await a.log.append(g, ['a', 'b'], batch)
      same(await a.log.append(g, ['a', 'b'], batch), first, 'reply to the repeat')
      for (const text of some(61)) await b.log.append(g, [text], many())
      const again = await a.log.append(g, ['a', 'b'], batch)
      same([again.state, again.last], ['ok', first.last + 61], 'repeat after 61 others')
      same(texts(await contents(b, g)), ['a', 'b', ...some(61)], 'texts')
    },
  },
  {
    name: 'append: a repeat by token is ok also where the log has ended or lost its reader since',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      const needy = many({ needReader: true })
      await a.log.append(g, [], poke())
      const { ticket } = await b.log.read(g, 'r', attach())
      same((await a.log.append(g, ['a'], needy)).state, 'ok', 'append')
      await b.log.read(g, 'r', leave(ticket))
      same((await a.log.append(g, ['a'], needy)).state, 'ok', 'repeat without a reader')
      await a.log.append(g, ['end'], many({ end: true }))
      same((await a.log.append(g, ['a'], needy)).state, 'ok', 'repeat after the end')
      same(texts(await contents(b, g)), ['a', 'end'], 'texts')
    },
  },
  {
    name: 'append: the one writer numbers; what is there already is skipped; numbers may be left out',
    async run({ a, b, keys }) {
      const { call } = keys('call')
      same((await a.log.append(call, ['1', '2'], one(1))).last, 2, 'last')
      same(await a.log.append(call, ['1', '2'], one(1)), { state: 'ok', last: 2 }, 'repeat')
      same((await a.log.append(call, ['2', '3', '4'], one(2))).last, 4, 'last after an overlap')
      same((await a.log.append(call, ['3'], one(3))).last, 4, 'last after an old one')
      const whole = await contents(b, call)
      same(
        whole.entries,
        [1, 2, 3, 4].map((n) => ({ n, text: `${n}` })),
        'entries',
      )
      same(whole.oldest, 1, 'oldest')
      same((await a.log.append(call, ['9', '10'], one(9))).last, 10, 'last after a gap')
      const gap = await contents(b, call)
      same(numbers(gap).slice(-2), [9, 10], 'the newest numbers')
      same(gap.oldest, 9, 'oldest: 5 to 8 are missing')
    },
  },
  {
    name: 'append: of nothing, makes the log with its owner and reader; the first entry may have any first number',
    async run({ a, b, keys }) {
      const { call, late } = keys('call', 'late')
      const made = await a.log.append(call, [], one(1, { owner: 'node-1', reader: 'node-1' }))
      same(made, { state: 'ok', last: 0, owner: 'node-1', reader: 'node-1' }, 'reply')
      same(await b.log.append(call, [], poke()), made, 'what a poke tells')
      same((await a.log.append(call, ['1'], one(1, { owner: 'node-1', reader: 'node-1' }))).last, 1, 'last')
      const read = await b.log.read(call, 'node-2', attach())
      same([read.entries, read.owner, read.previous], [[{ n: 1, text: '1' }], 'node-1', 'node-1'], 'what is read')

      between(
        (await b.log.append(late, [], poke())).last,
        a.now() - 60_000,
        a.now() + 60_000,
        'last of a log by a poke',
      )
      same((await a.log.append(late, ['7'], one(7))).last, 7, 'last after the one writer came')
      const seven = await contents(b, late)
      same([seven.entries, seven.oldest], [[{ n: 7, text: '7' }], 7], 'entries, oldest')
    },
  },
  {
    name: 'append: of nothing, to a log that is there, renews and tells, and changes nothing else',
    async run({ a, b, keys }) {
      const { call } = keys('call')
      await a.log.append(call, ['1'], one(1, { ttlMs: 20_000, owner: 'node-1', reader: 'node-1' }))
      const told = { state: 'ok', last: 1, owner: 'node-1', reader: 'node-1' }
      same(await b.log.append(call, [], poke({ owner: 'node-2', reader: 'node-2' })), told, 'poke')
      between(await a.kv.ttl(call), 20_001, LONG_MS, 'its new life')
      same(
        await a.log.append(call, ['2'], one(2, { owner: 'node-3', reader: 'node-3', ttlMs: 20_000 })),
        { ...told, last: 2 },
        'append',
      )
      between(await a.kv.ttl(call), 1, 20_000, 'its new, shorter life')
      same(texts(await contents(b, call)), ['1', '2'], 'texts')
    },
  },
  {
    name: 'append: takes nothing after the end, whoever numbers',
    async run({ a, b, keys }) {
      const { call } = keys('call')
      await a.log.append(call, ['1', '2'], one(1))
      same((await a.log.append(call, ['3'], one(3, { end: true, owner: 'x' }))).state, 'ok', 'end')
      for (const options of [one(4), many(), many({ above: 10 }), many({ end: true }), one(4, { end: true })]) {
        const reply = await b.log.append(call, ['late'], options)
        same([reply.state, reply.last], ['ended', 3], 'append after the end')
      }
      same((await b.log.append(call, [], poke())).state, 'ended', 'poke after the end')
      const read = await contents(b, call)
      same([texts(read), read.last, read.ended], [['1', '2', '3'], 3, true], 'what is read')
    },
  },
  {
    name: 'append: a repeat of the end that was stored is ok, of another end it is not',
    async run({ a, b, keys }) {
      const { call, dead } = keys('call', 'dead')
      const answer = one(2, { end: true })
      await a.log.append(call, ['1'], one(1))
      same((await a.log.append(call, ['answer'], answer)).state, 'ok', 'end')
      same((await a.log.append(call, ['answer'], answer)).state, 'ok', 'repeat')
      same((await b.log.append(call, ['gone'], many({ end: true, above: 1 }))).state, 'ended', "another node's end")

      const error = many({ end: true, above: 1 })
      await a.log.append(dead, ['1'], one(1))
      same((await b.log.append(dead, ['gone'], error)).state, 'ok', 'end of a dead owner')
      same((await b.log.append(dead, ['gone'], error)).state, 'ok', 'repeat')
      same((await a.log.append(dead, ['answer'], answer)).state, 'ended', "the owner's own end, by the same number")
      same(texts(await contents(a, dead)), ['1', 'gone'], 'texts')
    },
  },
  {
    name: 'append: of two ends at once exactly one is stored, and the other hears of it',
    async run({ a, b, keys }) {
      for (let round = 0; round < 10; round++) {
        const { call } = keys('call')
        await a.log.append(call, ['1'], one(1))
        const [answer, error] = await Promise.all([
          a.log.append(call, ['answer'], one(2, { end: true })),
          b.log.append(call, ['error'], many({ end: true, above: 1 })),
        ])
        same([answer.state, error.state].sort(), ['ended', 'ok'], 'states')
        const read = await contents(b, call)
        same(read.entries.slice(1), [{ n: 2, text: answer.state === 'ok' ? 'answer' : 'error' }], 'the end')
        same(read.ended, true, 'ended')
      }
    },
  },
  {
    name: 'append: above numbers above both the last entry and a cursor',
    async run({ a, b, keys }) {
      const { low, high } = keys('low', 'high')
      await a.log.append(low, ['1', '2', '3'], one(1))
      await a.log.append(high, ['1', '2', '3'], one(1))
      same((await b.log.append(low, ['end'], many({ above: 2, end: true }))).last, 4, 'above a cursor below last')
      same((await b.log.append(high, ['end'], many({ above: 8, end: true }))).last, 9, 'above a cursor beyond last')
      const read = await b.log.read(high, 'r', attach({ after: 8 }))
      same([read.entries, read.ended], [[{ n: 9, text: 'end' }], true], 'what the reader with that cursor gets')
    },
  },
  {
    name: 'append: without its guard nothing is written, nor made, nor renewed',
    async run({ a, b, keys }) {
      const { guard, g, made } = keys('guard', 'g', 'made')
      await a.log.append(g, ['x'], many({ ttlMs: 20_000 }))
      for (const options of [many({ guard }), one(1, { guard }), poke({ guard }), many({ guard, end: true })]) {
        same((await b.log.append(g, options.token || options.first ? ['y'] : [], options)).state, 'gone', 'state')
        same((await b.log.append(made, ['y'], options)).state, 'gone', 'state for a new log')
      }
      between(await a.kv.ttl(g), 1, 20_000, 'life')
      same(await a.kv.ttl(made), 0, 'life of the log that was not made')
      const read = await contents(a, g)
      same([texts(read), read.ended], [['x'], false], 'what is read')
      await a.kv.add(guard, 'session', LONG_MS)
      same((await b.log.append(g, ['y'], many({ guard }))).state, 'ok', 'with the guard')
    },
  },
  {
    name: 'append: needReader writes nothing without a reader, and names the one there is',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      same((await a.log.append(g, ['x'], many({ needReader: true }))).state, 'noReader', 'no log')
      same(await a.kv.ttl(g), 0, 'life of the log that was not made')
      await a.log.append(g, ['a'], many({ ttlMs: 20_000 }))
      const refused = await a.log.append(g, ['x'], many({ needReader: true }))
      same([refused.state, refused.reader], ['noReader', undefined], 'no reader yet')
      between(await a.kv.ttl(g), 1, 20_000, 'life')
      const { ticket } = await b.log.read(g, 'node-b', attach())
      const taken = await a.log.append(g, ['b'], many({ needReader: true }))
      same([taken.state, taken.reader], ['ok', 'node-b'], 'with a reader')
      await b.log.read(g, 'node-b', leave(ticket))
      same((await a.log.append(g, ['x'], many({ needReader: true }))).state, 'noReader', 'after it left')
      same((await a.log.append(g, ['c'], many())).reader, undefined, 'the reader, after it left')
      same(texts(await contents(a, g)), ['a', 'b', 'c'], 'texts')
    },
  },
  {
    name: 'append: bounded by entries and by bytes; the oldest go first, never the last one',
    async run({ a, b, keys }) {
      const { count, bytes, batch, big } = keys('count', 'bytes', 'batch', 'big')
      for (let n = 1; n <= 8; n++) await a.log.append(count, [`${n}`], one(n, { limit: { ...AMPLE, entries: 3 } }))
      const three = await contents(b, count)
      same([numbers(three), three.oldest, three.last], [[6, 7, 8], 6, 8], 'the last three')

      const hundred = 'x'.repeat(100)
      for (let n = 1; n <= 8; n++) await a.log.append(bytes, [hundred], one(n, { limit: { ...AMPLE, bytes: 450 } }))
      const four = await contents(b, bytes)
      same([numbers(four), four.oldest], [[5, 6, 7, 8], 5], 'the last 400 bytes')

      await a.log.append(batch, some(10), one(1, { limit: { ...AMPLE, entries: 4 } }))
      same(numbers(await contents(b, batch)), [7, 8, 9, 10], 'the last of a batch')

      await a.log.append(big, ['small'], one(1, { limit: { entries: 10, bytes: 50 } }))
      await a.log.append(big, [hundred], one(2, { limit: { entries: 10, bytes: 50 } }))
      same(texts(await contents(b, big)), [hundred], 'one entry above the bound')
      await a.log.append(big, ['3'], one(3, { limit: { entries: 10, bytes: 50 } }))
      same(texts(await contents(b, big)), ['3'], 'after the next one')
    },
  },
  {
    name: 'append: a log whose life is over is made anew, by higher numbers, and remembers nothing',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      const old = await a.log.append(g, ['old', 'older'], many({ owner: 'node-1', reader: 'node-1' }))
      await b.log.read(g, 'node-2', attach({ note: 'place' }))
      await a.log.append(g, ['end'], many({ end: true, ttlMs: SHORT_MS }))
      await eventually('the end of its life', async () => (await b.kv.ttl(g)) === 0)
      same((await b.log.read(g, 'node-2', attach())).state, 'unknown', 'attach')
      const made = await a.log.append(g, ['new'], many())
      same([made.state, made.reader, made.owner], ['ok', undefined, undefined], 'the new log')
      check(made.last > old.last + 1, `numbers went back, from ${old.last + 1} to ${made.last}`)
      const read = await b.log.read(g, 'node-3', attach())
      same([texts(read), read.ended, read.note, read.previous], [['new'], false, undefined, undefined], 'what is read')
    },
  },
  {
    name: 'append: by many at once, nothing is lost, doubled or put out of order',
    async run({ a, b, keys }) {
      const { g } = keys('g')
      const writer = async (store: typeof a, name: string) => {
        for (let i = 0; i < 30; i += 2) await store.log.append(g, [`${name}${i}`, `${name}${i + 1}`], many())
      }
      await Promise.all([writer(a, 'a'), writer(b, 'b'), writer(a, 'c'), writer(b, 'd')])
      const read = await contents(b, g)
      same(
        numbers(read),
        read.entries.map((_, i) => read.entries[0]!.n + i),
        'numbers',
      )
      for (const name of ['a', 'b', 'c', 'd']) {
        same(
          texts(read).filter((text) => text.startsWith(name)),
          some(30, name),
          `what ${name} wrote`,
        )
      }
      for (let i = 0; i < read.entries.length; i += 2) {
        same(texts(read)[i + 1]!.slice(0, 1), texts(read)[i]!.slice(0, 1), 'a batch stays together')
      }
    },
  },
  {
    name: 'append: a reader that is named hears of it, or has read it already',
    async run({ a, b, keys }) {
      for (let round = 0; round < 15; round++) {
        const { g } = keys('g')
        const reader = `node-${nanoid()}`
        const before = await a.log.append(g, ['before'], many())
        const [written, read] = await Promise.all([
          a.log.append(g, ['x'], many()),
          b.log.read(g, reader, attach({ after: before.last })),
        ])
        check(texts(read).includes('x') || written.reader === reader, 'an append that crossed an attach was missed')
        const rest = await b.log.read(g, reader, next(read.ticket, read.entries.at(-1)?.n ?? before.last))
        same([...texts(read), ...texts(rest)], ['x'], 'what both reads gave')
      }
    },
  },
]
