// What every store promises of kv.
import { nanoid } from 'nanoid'
import { between, check, eventually, same } from './check.ts'
import { attach, type Case, contents, LONG_MS, many, poke, SHORT_MS, some, texts } from './scene.ts'

export const kvCases: readonly Case[] = [
  {
    name: 'kv.get: undefined where nothing is, and nothing is made by looking',
    async run({ a, b, keys }) {
      const { k } = keys('k')
      same(await a.kv.get(k), undefined, 'get')
      same(await a.kv.get(k, LONG_MS), undefined, 'get with renewal')
      same(await b.kv.ttl(k), 0, 'ttl')
    },
  },
  {
    name: 'kv: texts come back as they were, at once at the other node',
    async run({ a, b, keys }) {
      const { plain, empty, world, long } = keys('plain', 'empty', 'world', 'long')
      const texts = { plain: '{"a":1}', empty: '', world: 'né 世界 🧵\n\0"\\', long: 'x'.repeat(200_000) }
      for (const [key, text] of [
        [plain, texts.plain],
        [empty, texts.empty],
        [world, texts.world],
        [long, texts.long],
      ] as const) {
        same(await a.kv.add(key, text, LONG_MS), text, `add ${key.name}`)
        same(await b.kv.get(key), text, `get ${key.name}`)
      }
    },
  },
  {
    name: 'kv: tag and name together name a record',
    async run({ a, b, keys }) {
      const { x } = keys('x')
      const { x: other } = keys('x')
      const odd = [x, other, { ...x, name: 'x:y' }, { tag: `${x.tag}:x`, name: 'y' }, { ...x, name: 'session:a%40b.c' }]
      for (const [i, key] of odd.entries()) await a.kv.add(key, `value ${i}`, LONG_MS)
      for (const [i, key] of odd.entries()) same(await b.kv.get(key), `value ${i}`, `${key.tag} ${key.name}`)
    },
  },
  {
    name: 'kv.get: renews itself and those of `also` that exist, kv and log alike, and makes none',
    async run({ a, b, keys }) {
      const { k, members, log, absent } = keys('k', 'members', 'log', 'absent')
      await a.kv.add(k, 'v', 20_000)
      await a.kv.add(members, 'm', 20_000)
      await a.log.append(log, ['x'], many({ ttlMs: 20_000 }))
      same(await b.kv.get(k), 'v', 'get without renewal')
      for (const key of [k, members, log]) between(await a.kv.ttl(key), 1, 20_000, `life of ${key.name}`)
      same(await b.kv.get(k, LONG_MS, [members, log, absent]), 'v', 'get with renewal')
      for (const key of [k, members, log]) between(await a.kv.ttl(key), 20_001, LONG_MS, `new life of ${key.name}`)
      same(await a.kv.ttl(absent), 0, 'life of what was absent')
      same(await b.kv.get(k, 20_000), 'v', 'get with a shorter life')
      between(await a.kv.ttl(k), 1, 20_000, 'the shorter life')
    },
  },
  {
    name: 'kv.get: who finds nothing renews nothing',
    async run({ a, b, keys }) {
      const { k, log } = keys('k', 'log')
      await a.log.append(log, ['x'], many({ ttlMs: 20_000 }))
      same(await b.kv.get(k, LONG_MS, [log]), undefined, 'get of what is absent')
      between(await a.kv.ttl(log), 1, 20_000, 'life of the log')
    },
  },
  {
    name: 'kv: a record whose life is over is absent for every step',
    async run({ a, b, keys }) {
      const { k, guarded, log } = keys('k', 'guarded', 'log')
      await a.kv.add(k, 'old', SHORT_MS)
      await eventually('the end of its life', async () => (await b.kv.ttl(k)) === 0)
      same(await b.kv.get(k, LONG_MS), undefined, 'get')
      same(await a.kv.swap(k, 'old', 'new', LONG_MS), false, 'swap')
      same(await b.kv.add(guarded, 'v', LONG_MS, k), undefined, 'add with it as guard')
      same((await a.log.append(log, ['x'], many({ guard: k }))).state, 'gone', 'append with it as guard')
      same(await a.kv.delete([k]), false, 'delete')
      same(await a.kv.ttl(guarded), 0, 'what was guarded')
      same(await b.kv.add(k, 'new', LONG_MS), 'new', 'add')
    },
  },
  {
    name: 'kv.add: the first stays, with its life; a repeat by the winner wins again',
    async run({ a, b, keys }) {
      const { k } = keys('k')
      same(await a.kv.add(k, 'first', 20_000), 'first', 'first add')
      same(await b.kv.add(k, 'second', LONG_MS), 'first', 'second add')
      same(await a.kv.add(k, 'first', LONG_MS), 'first', 'repeat of the first')
      between(await b.kv.ttl(k), 1, 20_000, 'its life')
    },
  },
  {
    name: 'kv.add: writes only where the guard is',
    async run({ a, b, keys }) {
      const { k, guard } = keys('k', 'guard')
      same(await a.kv.add(k, 'v', LONG_MS, guard), undefined, 'add without the guard')
      same(await b.kv.get(k), undefined, 'get after that')
      await b.kv.add(guard, 'g', LONG_MS)
      same(await a.kv.add(k, 'v', LONG_MS, guard), 'v', 'add with the guard')
      same(await b.kv.add(k, 'w', LONG_MS, guard), 'v', 'second add with the guard')
      same(await b.kv.get(k), 'v', 'get')
    },
  },
  {
    name: 'kv.add: of many at once exactly one wins, and all hear which',
    async run({ a, b, keys }) {
      const { k } = keys('k')
      const values = some(12).map((text) => `${text}-${nanoid()}`)
      const replies = await Promise.all(values.map((value, i) => (i % 2 ? a : b).kv.add(k, value, LONG_MS)))
      check(values.includes(replies[0] ?? ''), 'the winner is one of those who tried')
      same(
        replies,
        values.map(() => replies[0]),
        'what they heard',
      )
      same(await a.kv.get(k), replies[0], 'what is there')
    },
  },
  {
    name: 'kv.swap: changes only what it expects, with a new life, and makes nothing',
    async run({ a, b, keys }) {
      const { k, absent } = keys('k', 'absent')
      await a.kv.add(k, 'one', 20_000)
      same(await b.kv.swap(k, 'two', 'three', LONG_MS), false, 'swap from another value')
      same(await a.kv.get(k), 'one', 'after that')
      between(await b.kv.ttl(k), 1, 20_000, 'its life after that')
      same(await b.kv.swap(k, 'one', 'two', LONG_MS), true, 'swap')
      same(await b.kv.swap(k, 'one', 'two', LONG_MS), true, 'the same swap again')
      same(await a.kv.get(k), 'two', 'after the swap')
      between(await a.kv.ttl(k), 20_001, LONG_MS, 'its new life')
      same(await a.kv.swap(k, 'two', '', LONG_MS), true, 'swap to an empty text')
      same(await a.kv.swap(k, '', 'two', LONG_MS), true, 'swap from an empty text')
      same(await a.kv.swap(absent, '', 'x', LONG_MS), false, 'swap of what is absent')
      same(await b.kv.get(absent), undefined, 'what was absent')
    },
  },
  {
    name: 'kv.swap: of many at once exactly one wins',
    async run({ a, b, keys }) {
      const { k } = keys('k')
      await a.kv.add(k, 'start', LONG_MS)
      const values = some(12).map((text) => `${text}-${nanoid()}`)
      const replies = await Promise.all(values.map((value, i) => (i % 2 ? a : b).kv.swap(k, 'start', value, LONG_MS)))
      const winners = values.filter((_, i) => replies[i])
      same(winners.length, 1, 'winners')
      same(await a.kv.get(k), winners[0], 'what is there')
    },
  },
  {
    name: 'kv.delete: kv and logs in one step; says whether the first was there',
    async run({ a, b, keys }) {
      const { k, members, log, absent } = keys('k', 'members', 'log', 'absent')
      same(await a.kv.delete([absent, k]), false, 'delete of nothing')
      // A reply that was lost comes back as false, so one is tried several times.
      let yes = 0
      for (let i = 0; i < 8; i++) {
        await a.kv.add(k, 'v', LONG_MS)
        await a.kv.add(members, 'm', LONG_MS)
        await a.log.append(log, ['x'], many())
        if (await b.kv.delete([k, log, members, absent])) yes++
        same(await a.kv.get(k), undefined, 'k')
        same(await a.kv.get(members), undefined, 'members')
        same((await a.log.read(log, 'r', attach())).state, 'unknown', 'log')
        same(await a.kv.delete([k, log, members]), false, 'a second delete')
      }
      check(yes > 0, 'delete never said that the first was there')
      await a.kv.add(members, 'm', LONG_MS)
      same(await b.kv.delete([k, members]), false, 'delete where only the second is there')
      same(await a.kv.get(members), undefined, 'the second')
    },
  },
  {
    name: 'W4 W5 kv.delete: no later step brings anything of a session back',
    async run({ a, b, keys }) {
      const { session, members, g } = keys('session', 'members', 'g')
      await a.kv.add(session, 's', LONG_MS)
      await a.kv.add(members, 'm', LONG_MS, session)
      await a.log.append(g, ['x'], many({ guard: session }))
      const { ticket } = await b.log.read(g, 'r', attach({ guard: session }))
      await b.kv.delete([session, members, g])
      same(await a.kv.get(session, LONG_MS, [members, g]), undefined, 'get')
      same(await a.kv.add(members, 'm', LONG_MS, session), undefined, 'add')
      same(await a.kv.swap(session, 's', 't', LONG_MS), false, 'swap of the session')
      same(await a.kv.swap(members, 'm', 'n', LONG_MS), false, 'swap of members')
      same((await a.log.append(g, ['y'], many({ guard: session }))).state, 'gone', 'append')
      same((await a.log.append(g, [], poke({ guard: session }))).state, 'gone', 'poke')
      for (const take of ['attach', 'next', 'leave'] as const) {
        const read = await b.log.read(g, 'r', { guard: session, take, ticket, max: 10, note: 'n', ttlMs: LONG_MS })
        same([read.state, read.entries], ['gone', []], take)
      }
      for (const key of [session, members, g]) same(await a.kv.ttl(key), 0, `life of ${key.name}`)
    },
  },
  {
    name: 'W4 W5 kv.delete: guarded writes that cross it leave nothing behind',
    async run({ a, b, keys }) {
      for (let round = 0; round < 10; round++) {
        const { session, members, g } = keys('session', 'members', 'g')
        await a.kv.add(session, 's', LONG_MS)
        await Promise.all([
          b.log.append(g, ['x'], many({ guard: session })),
          b.kv.add(members, 'm', LONG_MS, session),
          a.kv.delete([session, members, g]),
          b.log.append(g, ['y'], many({ guard: session })),
        ])
        for (const key of [session, members, g]) same(await b.kv.ttl(key), 0, `life of ${key.name}`)
      }
    },
  },
  {
    name: 'kv.ttl: what is left of a life, in ms, for kv and logs',
    async run({ a, b, keys }) {
      const { k, log, absent } = keys('k', 'log', 'absent')
      await a.kv.add(k, 'v', LONG_MS)
      await a.log.append(log, ['x'], many())
      const first = await b.kv.ttl(k)
      between(first, LONG_MS - 60_000, LONG_MS, 'life of k')
      between(await b.kv.ttl(log), LONG_MS - 60_000, LONG_MS, 'life of the log')
      same(await b.kv.ttl(absent), 0, 'life of what is absent')
      await eventually('less of it', async () => (await a.kv.ttl(k)) < first)
    },
  },
  {
    name: 'now: the same clock for both nodes, and it does not go back',
    async run({ a, b }) {
      let last = 0
      for (let i = 0; i < 1000; i++) {
        const now = a.now()
        check(Number.isFinite(now) && now >= last, `${now} after ${last}`)
        last = now
      }
      await a.kv.ttl({ tag: nanoid(), name: 'k' })
      between(b.now() - a.now(), -2000, 2000, 'difference')
    },
  },
  {
    name: 'kv: one hundred records of one tag, each by itself',
    async run({ a, b, keys }) {
      const { k } = keys('k')
      const records = some(100, 'call-').map((name) => ({ ...k, name }))
      for (const [i, key] of records.entries()) {
        if (i % 2) await a.kv.add(key, key.name, LONG_MS)
        else await a.log.append(key, [key.name], many())
      }
      await b.kv.delete(records.slice(0, 50))
      for (const [i, key] of records.entries()) {
        if (i < 50) same(await a.kv.ttl(key), 0, key.name)
        else if (i % 2) same(await a.kv.get(key), key.name, key.name)
        else same(texts(await contents(a, key)), [key.name], key.name)
      }
    },
  },
]
