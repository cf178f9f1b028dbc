// The newest GET wins, whatever else happens at the time: nothing is lost, nothing comes twice.
import { expect, test } from 'vitest'
import { ChangingServer } from '../../test-support/changing.ts'
import { type Client, legacy } from '../../test-support/clients.ts'
import { inFakeTime, pause } from '../../test-support/clock.ts'
import { type Listener, listen } from '../../test-support/listener.ts'
import { at, oneOf } from '../../test-support/nodes.ts'
import { until } from '../../test-support/scene.ts'
import type { Message } from '../../test-support/sse.ts'
import { memoryStore } from '../memory-store.ts'
import { unreliable } from '../testing/unreliable.ts'

const MESSAGES = 30

/** 0 to n - 1, the same for the same seed. */
function dice(seed: number): (n: number) => number {
  let state = seed
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
}

const numberOf = ({ params }: Message) => (params?.data ?? Number(String(params?.uri).slice(6))) as number
const isChange = ({ method }: Message) => method === 'notifications/resources/updated'

async function round(seed: number, nodes: number, lossy: boolean): Promise<void> {
  const roll = dice(seed)
  const inner = memoryStore()
  const view = (i: number) => (lossy ? unreliable(inner, { seed: seed + i, probability: 0.1 }) : inner)
  const all = Array.from({ length: nodes }, (_, i) => oneOf(view(i), {}, new ChangingServer()))
  const transport = () => all[roll(nodes)]!.transport
  const client = await legacy(all[0]!.transport)
  for (let i = 0; i < MESSAGES; i++) await client.request('resources/subscribe', { uri: `test:/${i}` })

  /** What the client has read, connection by connection. */
  const got: Message[][] = []
  let current: Listener = await listen(client)
  let reading = true
  const publisher = (async () => {
    for (let i = 0; i < MESSAGES; i++) {
      const node = transport()
      if (roll(2)) await node.notify.resourceUpdated(`test:/${i}`)
      else await (await node.session(client.session))!.send('notifications/message', { level: 'info', data: i })
      if (roll(3) === 0) await pause(roll(4))
    }
    reading = false
  })()
  const open: Listener[] = [current]
  while (reading) {
    await pause(roll(5))
    const there: Client = at(transport(), client)
    const way = roll(3)
    if (way === 0) {
      // A new connection beside the old one, which is read to its end.
      const before = current
      current = await listen(there)
      await before.ended
      got.push(before.messages)
    } else if (way === 1 && current.lastId !== undefined) {
      await current.leave()
      got.push(current.messages)
      current = await listen(there, current.lastId)
    } else if (current.lastId !== undefined) {
      // What comes on the old one after this is not read any more.
      got.push([...current.messages])
      current = await listen(there, current.lastId)
    }
    open.push(current)
  }
  await publisher
  try {
    await until(() => {
      const numbers = [...got.flat(), ...current.messages].map(numberOf)
      expect(numbers.toSorted((x, y) => x - y)).toEqual(Array.from({ length: MESSAGES }, (_, i) => i))
      const inLog = [...got.flat(), ...current.messages].filter((message) => !isChange(message)).map(numberOf)
      expect(inLog).toEqual(inLog.toSorted((x, y) => x - y))
    })
  } finally {
    for (const listener of open) await listener.leave()
  }
}

/** More in `npm run prove`. */
const FULL = process.env.FAIRLEAD_FULL === '1' ? 10 : 1

test.each([
  { nodes: 1, lossy: false, rounds: 10 },
  { nodes: 1, lossy: true, rounds: 10 },
  { nodes: 2, lossy: false, rounds: 10 },
  { nodes: 2, lossy: true, rounds: 10 },
])(
  'S18 B-11 W3 R20 $nodes nodes, replies get lost: $lossy: $rounds random orders of events',
  async (given) => {
    for (let seed = 1; seed <= given.rounds * FULL; seed++)
      await inFakeTime(() => round(seed * 7919, given.nodes, given.lossy))
  },
  120_000,
)
