// The main job: real clients of both eras, against one URL.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Field, startField } from '../fixtures/field.ts'
import { legacyCall, legacyHandshake, modernCall, textOf } from '../fixtures/raw.ts'
import { CLIENTS, INSPECTOR_VERSION, inspect, type Opened } from './clients.ts'
import { tap } from './tap.ts'

const STEPS = 5
const STEP_MS = 200
const steps = Array.from({ length: STEPS }, (_, i) => `step ${i + 1}`)

const isFull = process.env.FAIRLEAD_FULL === '1'
const CROWD = isFull ? 400 : 50

let field: Field

beforeAll(async () => {
  field = await startField()
  for (const { name, version } of [...CLIENTS, { name: 'inspector CLI', version: INSPECTOR_VERSION }]) {
    console.log(`client: ${name} ${version}`)
  }
})

afterAll(async () => {
  await field.close()
})

/** Sent one after the other while the call ran: the first was there long before the last, the last before the result. */
function expectLive(arrivals: readonly number[], result: number): void {
  const [first, last] = [arrivals[0]!, arrivals.at(-1)!]
  expect(last - first).toBeGreaterThan(((STEPS - 1) * STEP_MS) / 2)
  const gaps = arrivals.slice(1).map((at, i) => at - arrivals[i]!)
  expect(gaps.filter((gap) => gap > STEP_MS / 4).length).toBeGreaterThanOrEqual(2)
  expect(result).toBeGreaterThanOrEqual(last)
}

describe.each(CLIENTS)('$name $version', ({ open, speaks }) => {
  let client: Opened

  beforeAll(async () => {
    client = await open(field.url)
  })
  afterAll(async () => {
    await client.close()
  })

  test('lists the tools', async () => {
    expect(await client.listTools()).toEqual(expect.arrayContaining(['echo', 'slow', 'progress', 'whoami', 'region']))
  })

  test('calls echo', async () => {
    expect(await client.call('echo', { text: 'ahoy' })).toBe('ahoy')
  })

  test('speaks the revision that it should', async () => {
    const { era, protocolVersion } = JSON.parse(await client.call('whoami', {}))
    expect(protocolVersion).toBe(speaks)
    expect(era).toBe(speaks === '2026-07-28' ? 'modern' : 'legacy')
  })

  test('S23 receives the steps of progress live, before the result', async () => {
    const arrivals: { message: string; at: number }[] = []
    const result = await client.call('progress', { n: STEPS, ms: STEP_MS }, (message) => {
      arrivals.push({ message, at: performance.now() })
    })
    const done = performance.now()
    expect(result).toBe(`${STEPS} steps`)
    expect(arrivals.map(({ message }) => message)).toEqual(steps)
    expectLive(
      arrivals.map(({ at }) => at),
      done,
    )
  })
})

describe.each(['legacy', 'modern'] as const)(`inspector CLI ${INSPECTOR_VERSION}, %s`, (era) => {
  const cli = (url: string, ...args: string[]) =>
    inspect(['--cli', url, '--transport', 'http', '--protocol-era', era, ...args])
  const call = (url: string, tool: string, args: Record<string, unknown>, ...rest: string[]) => {
    const called = ['--method', 'tools/call', '--tool-name', tool, '--tool-args-json', JSON.stringify(args)]
    return cli(url, ...called, ...rest) as Promise<{ content: { text: string }[] }>
  }

  test('lists the tools', async () => {
    const { tools } = (await cli(field.url, '--method', 'tools/list')) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['echo', 'progress']))
  })

  test('calls echo', async () => {
    expect((await call(field.url, 'echo', { text: 'ahoy' })).content).toEqual([{ type: 'text', text: 'ahoy' }])
  })

  // It shows only the result, so what reaches it is watched on the wire.
  test('S23 receives the steps of progress live, before the result', async () => {
    const relay = await tap(field.url)
    try {
      const args = { n: STEPS, ms: STEP_MS }
      const { content } = await call(relay.url, 'progress', args, '--tool-metadata', 'progressToken=steps')
      expect(content).toEqual([{ type: 'text', text: `${STEPS} steps` }])
      const at = (text: string) => relay.seen.find((chunk) => chunk.text.includes(text))!.at
      expectLive(steps.map(at), at(`"${STEPS} steps"`))
    } finally {
      await relay.close()
    }
  })
})

test(`S38 ${CROWD} clients of both eras at once, with equal request ids: no answer crosses`, async () => {
  const rawLegacy = async (): Promise<Pick<Opened, 'call' | 'close'>> => {
    const session = await legacyHandshake(field.url)
    return {
      call: async (tool, args) => textOf((await legacyCall(field.url, session, tool, args)).messages.at(-1)!),
      close: async () => {},
    }
  }
  const rawModern = async (): Promise<Pick<Opened, 'call' | 'close'>> => ({
    call: async (tool, args) => textOf((await modernCall(field.url, tool, args)).messages.at(-1)!),
    close: async () => {},
  })
  const kinds = [
    ...CLIENTS.map(
      ({ open }) =>
        () =>
          open(field.url),
    ),
    rawLegacy,
    rawModern,
  ]
  const crowd = await Promise.all(Array.from({ length: CROWD }, (_, i) => kinds[i % kinds.length]!()))

  const secrets = crowd.map((_, i) => `${i}-${crypto.randomUUID()}`)
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all(
      crowd.map(async ({ call }, i) => [
        await call('echo', { text: secrets[i] }),
        // Answered in another order than asked, and over a stream.
        await call('slow', { ms: (i * 37) % 200, text: secrets[i] }),
      ]),
    )
    expect(answers).toEqual(secrets.map((secret) => [secret, secret]))
  }
  await Promise.all(crowd.map(({ close }) => close()))
})
