// What every store promises of the bus.
import { nanoid } from 'nanoid'
import type { Entry, Store } from '../store.ts'
import { between, check, eventually, same } from './check.ts'
import { type Case, type Follower, follow, LONG_MS, SHORT_MS, some } from './scene.ts'

export const busCases: readonly Case[] = [
  {
    name: 'bus: a follower on each node hears every later entry once, in order, by number',
    async run({ a, b, topic }) {
      const name = topic()
      const here = await follow(a, name)
      const there = await follow(b, name)
      same(there.place, here.place, 'the place')
      between(here.place, a.now() - 60_000, a.now() + 60_000, 'the first place')
      const numbers: number[] = []
      for (const [i, text] of some(10).entries()) numbers.push(await send(i % 2 ? a : b, name, text))
      same(
        numbers,
        some(10).map((_, i) => here.place + 1 + i),
        'numbers',
      )
      for (const follower of [here, there]) {
        await hears(follower, 10)
        same(
          follower.heard,
          some(10).map((text, i) => ({ n: numbers[i], text })),
          'what was heard',
        )
        same(follower.gapAt, undefined, 'gaps')
      }
    },
  },
  {
    name: 'bus: texts come as they were sent',
    async run({ a, b, topic }) {
      const name = topic()
      const follower = await follow(b, name)
      const all = ['', 'né 世界 🧵\n\0"\\', 'x'.repeat(100_000)]
      for (const text of all) await send(a, name, text)
      await hears(follower, 3)
      same(
        follower.heard.map(({ text }) => text),
        all,
        'texts',
      )
    },
  },
  {
    name: 'bus: two publishers at once; both followers hear one order, which is that of each of them',
    async run({ a, b, topic }) {
      const name = topic()
      const followers = [await follow(a, name), await follow(b, name)] as const
      const publisher = async (store: Store, prefix: string) => {
        for (const text of some(40, prefix)) await send(store, name, text)
      }
      await Promise.all([publisher(a, 'a'), publisher(b, 'b')])
      for (const follower of followers) {
        await hears(follower, 80)
        same(
          follower.heard.map(({ n }) => n),
          followers[0].heard.map((_, i) => follower.place + 1 + i),
          'numbers',
        )
        for (const prefix of ['a', 'b']) {
          const own = follower.heard.map(({ text }) => text).filter((text) => text.startsWith(prefix))
          same(own, some(40, prefix), `what ${prefix} published`)
        }
      }
      same(followers[1].heard, followers[0].heard, 'what both heard')
    },
  },
  {
    name: 'bus: a repeat finds its token and is heard once',
    async run({ a, b, topic }) {
      const name = topic()
      const follower = await follow(b, name)
      const token = nanoid()
      const n = await a.bus.publish(name, 'once', { token })
      same(await a.bus.publish(name, 'once', { token }), n, 'number of the repeat')
      for (const text of some(62)) await send(b, name, text)
      same(await a.bus.publish(name, 'once', { token, followed: true }), n, 'number of the repeat after 62 others')
      await send(a, name, 'last')
      await hears(follower, 64)
      same(
        follower.heard.map(({ text }) => text),
        ['once', ...some(62), 'last'],
        'what was heard',
      )
    },
  },
  {
    name: 'bus: a repeat finds its token also where the entry was handled meanwhile',
    async run({ a, b, topic }) {
      const name = topic()
      const follower = await follow(b, name)
      const token = nanoid()
      const n = await a.bus.publish(name, 'once', { token })
      await hears(follower, 1)
      follower.handled(n)
      await follower.renew()
      same(await a.bus.publish(name, 'once', { token }), n, 'number of the repeat')
      await send(a, name, 'last')
      await hears(follower, 2)
      same(
        follower.heard.map(({ text }) => text),
        ['once', 'last'],
        'what was heard',
      )
      same(follower.gapAt, undefined, 'gaps')
    },
  },
  {
    name: 'bus: followed reaches only a topic that exists, and makes none',
    async run({ a, b, topic }) {
      const name = topic()
      for (let i = 0; i < 2; i++) same(await publishFollowed(a, name), 0, 'no topic')
      same(await b.bus.read(name, 0, 10), { entries: [], gap: true }, 'what is there')
      const follower = await follow(b, name)
      const n = await publishFollowed(a, name)
      same(n, follower.place + 1, 'its number')
      await hears(follower, 1)
    },
  },
  {
    name: 'bus: a publish that is not bound to followers makes the topic',
    async run({ a, b, topic }) {
      const name = topic()
      const first = await send(a, name, 'x')
      between(first, a.now() - 60_000, a.now() + 60_000, 'first number')
      const follower = await follow(b, name)
      same(follower.place, first, 'the place of who comes later')
      same(await publishFollowed(a, name), first + 1, 'the next number')
      await hears(follower, 1)
      same(follower.heard[0]?.n, first + 1, 'what was heard')
    },
  },
  {
    name: 'bus: a life is given by subscribing and renewing, never by publishing',
    async run({ a, b, topic }) {
      const name = topic()
      const follower = await follow(b, name, { ttlMs: SHORT_MS })
      await eventually('the end of its life', async () => (await publishFollowed(a, name)) === 0)
      same((await a.bus.read(name, follower.place, 10)).gap, true, 'a gap, where the topic is gone')
      await follower.stop()

      const again = await follow(b, name, { ttlMs: SHORT_MS })
      const life = await follow(a, name, { ttlMs: LONG_MS })
      const n = await publishFollowed(a, name)
      check(n > follower.place, `numbers went back, from ${follower.place} to ${n}`)
      await hears(life, 1)
      await Promise.all([again.stop(), life.stop()])
      same(await publishFollowed(a, name), n + 1, 'a topic lives on where nobody follows')
    },
  },
  {
    name: 'bus: each renewal, and each follower that comes, gives the topic a life from then on',
    async run({ a, b, topic }) {
      const ttlMs = 400
      // Slow machines may miss a renewal in time; then it is tried again.
      for (let tries = 1; ; tries++) {
        const [left, renewed, joined] = [topic(), topic(), topic()]
        await Promise.all([follow(b, left, { ttlMs }), follow(b, joined, { ttlMs })])
        await follow(a, joined, { ttlMs: LONG_MS })
        const { renew } = await follow(b, renewed, { ttlMs })
        let longest = 0
        let last = a.now()
        await eventually('the end of a life that was not renewed', async () => {
          await renew()
          longest = Math.max(longest, a.now() - last)
          last = a.now()
          return (await publishFollowed(a, left)) === 0
        })
        if (longest >= ttlMs / 2 && tries < 10) continue
        check((await publishFollowed(a, renewed)) > 0, 'the one that was renewed is there')
        check((await publishFollowed(a, joined)) > 0, 'the one that somebody joined for longer is there')
        return
      }
    },
  },
  {
    name: 'bus: who renews a topic that had lapsed hears of the gap, and of all that comes after',
    async run({ a, b, topic }) {
      const name = topic()
      const follower = await follow(b, name, { ttlMs: SHORT_MS })
      // Bound to followers: where the life is over by now, it would make a topic that lives on.
      await publishFollowed(a, name, 'before')
      await eventually('the end of its life', async () => (await publishFollowed(a, name)) === 0)
      const keeper = await follow(a, name)
      await follower.renew()
      const n = await publishFollowed(a, name, 'after')
      check(n > 0, 'the topic is there again')
      await eventually('the follower hears what came after', () => follower.heard.at(-1)?.text === 'after')
      check(follower.gapAt !== undefined, 'it was told of the gap')
      const after = follower.heard.slice(follower.gapAt)
      same(after.at(-1), { n, text: 'after' }, 'the last')
      ascending(after)
      same(keeper.gapAt, undefined, 'a follower that came with the new topic has missed nothing')
    },
  },
  {
    name: 'bus: renewing alone brings a lapsed topic back',
    async run({ a, b, topic }) {
      const name = topic()
      const follower = await follow(b, name, { ttlMs: 400 })
      await eventually('the end of its life', async () => (await publishFollowed(a, name)) === 0)
      await eventually('an entry after a renewal', async () => {
        await follower.renew()
        return (await publishFollowed(a, name, 'after')) > 0
      })
      await eventually('the follower hears it', () => follower.heard.some(({ text }) => text === 'after'))
      check(follower.gapAt !== undefined, 'it was told of the gap')
    },
  },
  {
    name: 'bus: who comes back with its place hears what it missed, then the rest, each once',
    async run({ a, b, topic }) {
      const name = topic()
      const keeper = await follow(a, name)
      const numbers: number[] = []
      for (const text of some(20)) numbers.push(await send(a, name, text))
      await hears(keeper, 20)
      const [follower] = await Promise.all([
        follow(b, name, { after: numbers[7] }),
        ...some(10, 'live').map((text) => send(a, name, text)),
      ])
      await hears(follower, 22)
      await hears(keeper, 30)
      same(follower.place, numbers[7], 'its place')
      same(follower.heard, keeper.heard.slice(8), 'what it heard')
      same(follower.gapAt, undefined, 'gaps')
      check(!follower.whys.includes('gap'), 'nothing was missing')
      const up = await follow(b, name, { after: keeper.heard.at(-1)!.n })
      await send(a, name, 'last')
      await hears(up, 1)
      same([up.heard[0]?.text, up.gapAt], ['last', undefined], 'what one at the end hears')
    },
  },
  {
    name: 'bus: a place before what is kept, or beyond the end, is a gap',
    async run({ a, b, topic }) {
      const name = topic()
      const keeper = await follow(a, name)
      const n = await send(a, name, 'kept')
      const early = await follow(b, name, { after: keeper.place - 5 })
      const beyond = await follow(b, name, { after: n + 1_000_000 })
      await eventually('both are told', () => early.gapAt !== undefined && beyond.gapAt !== undefined)
      await send(a, name, 'later')
      for (const follower of [early, beyond]) {
        await eventually('it goes on from there', () => follower.heard.at(-1)?.text === 'later')
        same(follower.gapAt, 0, 'a gap before all else')
        ascending(follower.heard)
        same(follower.whys.filter((why) => why === 'gap').length, 1, 'gaps')
      }
      same(
        early.heard.map(({ text }) => text),
        ['kept', 'later'],
        'what the early one heard',
      )
      await hears(keeper, 2)
      same(keeper.gapAt, undefined, 'gaps of the one that was there')
    },
  },
  {
    name: 'bus.read: what comes after a place, page by page; a gap where not all of it is there',
    async run({ a, b, topic }) {
      const name = topic()
      const { place } = await follow(a, name)
      same(await b.bus.read(name, place, 10), { entries: [], gap: false }, 'nothing yet')
      same((await b.bus.read(name, place - 1, 10)).gap, true, 'from before the topic')
      const entries: Entry[] = []
      for (const text of some(7)) entries.push({ n: await send(a, name, text), text })
      same(await b.bus.read(name, place, 3), { entries: entries.slice(0, 3), gap: false }, 'first page')
      same(await b.bus.read(name, place + 3, 100), { entries: entries.slice(3), gap: false }, 'the rest')
      same(await b.bus.read(name, place + 7, 100), { entries: [], gap: false }, 'at the end')
      same((await b.bus.read(name, place - 1, 100)).gap, true, 'from before the topic, with entries')
      same((await b.bus.read(name, place + 1000, 100)).gap, true, 'from beyond the end')
      same((await b.bus.read(topic(), place, 100)).gap, true, 'where there is no topic')
    },
  },
  {
    name: 'bus: what one follower throws stops neither the others nor itself',
    async run({ a, topic }) {
      const name = topic()
      const texts: string[] = []
      await a.bus.subscribe(name, { ttlMs: LONG_MS }, (entries) => {
        texts.push(...entries.map(({ text }) => text))
        throw new Error('thrown by a follower, on purpose')
      })
      const other = await follow(a, name)
      await send(a, name, 'first')
      await hears(other, 1)
      await send(a, name, 'second')
      await hears(other, 2)
      await eventually('the one that throws hears both', () => texts.length === 2)
      same(texts, ['first', 'second'], 'what it heard')
    },
  },
  {
    name: 'bus: a follower is never told inside of a publish, nor before it knows its place',
    async run({ a, topic }) {
      const name = topic()
      const { place } = await follow(a, name)
      const told: { inside: boolean; subscribed: boolean; texts: string[] }[] = []
      let inside = false
      let subscribed = false
      const publish = (text: string) => {
        inside = true
        const published = send(a, name, text)
        inside = false
        return published
      }
      await publish('missed')
      const subscription = a.bus.subscribe(name, { after: place, ttlMs: LONG_MS }, (entries) => {
        told.push({ inside, subscribed, texts: entries.map(({ text }) => text) })
      })
      const published = publish('crossed it')
      await subscription.then(() => {
        subscribed = true
      })
      await published
      await publish('live')
      await eventually('it is told of all', () => told.at(-1)?.texts.at(-1) === 'live')
      same(
        told.flatMap(({ texts }) => texts),
        ['missed', 'crossed it', 'live'],
        'what it was told',
      )
      for (const { inside, subscribed } of told) same([inside, subscribed], [false, true], 'inside, subscribed')
    },
  },
  {
    name: 'bus: after stop nothing more is heard; stopping twice does no harm',
    async run({ a, b, topic }) {
      const name = topic()
      const stopped = await follow(a, name)
      const other = await follow(a, name)
      const far = await follow(b, name)
      await send(b, name, 'before')
      await Promise.all([hears(stopped, 1), hears(other, 1), hears(far, 1)])
      await stopped.stop()
      await stopped.stop()
      await send(b, name, 'after')
      await Promise.all([hears(other, 2), hears(far, 2)])
      same(stopped.heard.length, 1, 'what the one that stopped heard')
    },
  },
  {
    name: 'bus: topics do not mix',
    async run({ a, b, topic }) {
      const [one, two] = [topic(), topic()]
      const followers = [await follow(a, one), await follow(b, two)] as const
      await Promise.all([send(b, one, 'one'), send(a, two, 'two')])
      await Promise.all(followers.map((follower) => hears(follower, 1)))
      same(
        followers.map(({ heard }) => heard.map(({ text }) => text)),
        [['one'], ['two']],
        'what was heard',
      )
    },
  },
  {
    name: 'bus: what is handled is trimmed at the next renewal, and no follower up to date misses anything',
    async run({ a, b, topic }) {
      const name = topic()
      const follower = await follow(b, name)
      await publishMany(a, name, 500)
      await hears(follower, 500)
      follower.handled(follower.heard[399]!.n)
      await follower.renew()
      await eventually('the oldest are gone', async () => (await a.bus.read(name, follower.place, 1)).gap)
      const rest = await a.bus.read(name, follower.heard[399]!.n, 1000)
      same([rest.gap, rest.entries], [false, follower.heard.slice(400)], 'what is not handled')
      await send(a, name, 'more')
      await hears(follower, 501)
      same(follower.gapAt, undefined, 'gaps')
    },
  },
  {
    name: 'bus: the topic events keeps 10,000 entries, handled or not',
    async run({ a, b }) {
      const follower = await follow(b, 'events')
      await publishMany(a, 'events', 10_000)
      await hears(follower, 10_000)
      follower.handled(follower.heard.at(-1)!.n)
      await follower.renew()
      const all: Entry[] = []
      for (let place = follower.place; all.length < 10_000; place = all.at(-1)!.n) {
        const page = await a.bus.read('events', place, 3000)
        same(page.gap, false, `a gap after ${place}`)
        check(page.entries.length > 0, `nothing after ${place}`)
        all.push(...page.entries)
      }
      same(all, follower.heard, 'what was kept')
    },
  },
]

function send(store: Store, topic: string, text: string): Promise<number> {
  return store.bus.publish(topic, text, { token: nanoid() })
}

function publishFollowed(store: Store, topic: string, text = 'x'): Promise<number> {
  return store.bus.publish(topic, text, { token: nanoid(), followed: true })
}

/** As many at once as tokens allow: a repeat must still find its own among the last 64. */
async function publishMany(store: Store, topic: string, count: number): Promise<void> {
  let next = 0
  const publisher = async () => {
    while (next < count) await send(store, topic, `t${next++}`)
  }
  await Promise.all(Array.from({ length: 30 }, publisher))
}

async function hears(follower: Follower, count: number): Promise<void> {
  await eventually(`a follower hears ${count} entries`, () => follower.heard.length >= count)
  same(follower.heard.length, count, 'entries heard')
}

function ascending(entries: readonly Entry[]): void {
  for (let i = 1; i < entries.length; i++) check(entries[i]!.n > entries[i - 1]!.n, 'numbers ascend')
}
