// How long, and by whom, a result may be kept.
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { LEGACY_VERSIONS, legacy, modern } from '../../packages/core/test-support/clients.ts'
import { mcp, resultOf } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'

const hint = ({ ttlMs, cacheScope }: { [key: string]: unknown }) => ({ ttlMs, cacheScope })
const CACHE = { ttlMs: 60_000, scope: 'public' as const }
const PUBLIC = { ttlMs: 60_000, cacheScope: 'public' }
const NONE = { ttlMs: 0, cacheScope: 'private' }

function filled(cache?: typeof CACHE) {
  const server = mcp(cache ? { cache } : {})
  server.tool('t', {}, () => 'x')
  server.prompt('p', {}, () => 'x')
  server.resource('note://a', { cache: { ttlMs: 5, scope: 'public' } }, () => 'x')
  server.resource('note://b', {}, () => 'x')
  server.resource('doc://{id}', { cache: { ttlMs: 6, scope: 'private' } }, ({ id }) => id)
  return server
}

const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']

describe('2026-07-28', () => {
  test.each(LISTS)('H-03 H-07 %s is private and not kept, unless the server says otherwise', async (method) => {
    const plain = modern(scene({}, filled()).transport)
    expect(hint(resultOf(await plain.request(method)))).toEqual(NONE)
    const told = modern(scene({}, filled(CACHE)).transport)
    expect(hint(resultOf(await told.request(method)))).toEqual(PUBLIC)
  })

  test.each([
    ['note://a', { ttlMs: 5, cacheScope: 'public' }],
    ['note://b', NONE],
    ['doc://1', { ttlMs: 6, cacheScope: 'private' }],
  ])('H-03 H-07 a read of %s has the hints of that resource alone', async (uri, expected) => {
    const client = modern(scene({}, filled(CACHE)).transport)
    expect(hint(resultOf(await client.request('resources/read', { uri })))).toEqual(expected)
  })

  test('H-05 a read that needs input has no hints', async () => {
    const server = mcp()
    server.resource('ask://a', { cache: CACHE }, async (_variables, ctx) => {
      const told = await ctx.elicit('name', { message: 'Who?', schema: v.object({ name: v.string() }) })
      return told.action
    })
    const client = modern(scene({}, server).transport)
    const meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } }
    const result = resultOf(await client.request('resources/read', { uri: 'ask://a' }, { meta }))
    expect(result.resultType).toBe('input_required')
    expect(hint(result)).toEqual({ ttlMs: undefined, cacheScope: undefined })
    const { requestState } = result
    const retry = { uri: 'ask://a', requestState, inputResponses: { name: { action: 'decline' } } }
    const done = resultOf(await client.request('resources/read', retry, { meta }))
    expect(done).toMatchObject({ contents: [{ text: 'decline' }], ...PUBLIC })
  })

  test('H-06 H-07 each page has one scope: the narrowest of what is put together', async () => {
    const server = mcp({ cache: CACHE, pageSize: 2 })
    for (const name of 'abcde') server.resource(`note://${name}`, {}, () => 'x')
    const template = server.resource(
      'doc://{id}',
      { cache: { ttlMs: 7, scope: 'private' }, list: () => [{ uri: 'doc://1', name: '1' }] },
      ({ id }) => id,
    )
    const { transport } = scene({}, server)
    const hints = async () => {
      const found: object[] = []
      for (let cursor: unknown, more = true; more; ) {
        const page = resultOf(await modern(transport).request('resources/list', cursor ? { cursor } : {}))
        found.push(hint(page))
        cursor = page.nextCursor
        more = cursor !== undefined
      }
      return found
    }
    expect(await hints()).toEqual(Array(3).fill({ ttlMs: 7, cacheScope: 'private' }))
    template.remove()
    expect(await hints()).toEqual(Array(3).fill(PUBLIC))
  })
})

test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '5', undefined])('H-04 ttlMs %s is refused', (ttlMs) => {
  const cache = { ttlMs, scope: 'public' } as never
  const told = 'option cache.ttlMs: '
  expect(() => mcp({ cache })).toThrow(told)
  expect(() => mcp().resource('note://a', { cache }, () => 'x')).toThrow(told)
  expect(() => mcp().resource('note://{a}', { cache }, () => 'x')).toThrow(told)
})

test.each(['shared', undefined, true])('H-07 H-06 the scope %s is refused', (scope) => {
  const cache = { ttlMs: 5, scope } as never
  expect(() => mcp({ cache })).toThrow('option cache.scope: must be of public, private')
  expect(() => mcp().resource('note://a', { cache }, () => 'x')).toThrow('option cache.scope: ')
})

test('H-03 P-12 Q-46 no legacy revision is told of caching', async () => {
  const { transport } = scene({}, filled(CACHE))
  for (const version of LEGACY_VERSIONS) {
    const client = await legacy(transport, version)
    const answers = [
      ...LISTS.map((method) => client.request(method)),
      client.request('resources/read', { uri: 'note://a' }),
    ]
    for (const { text } of await Promise.all(answers)) expect(text).not.toMatch(/ttlMs|cacheScope/)
  }
})
