// Which version a request goes by, and what its `_meta` must say.
import { describe, expect, test } from 'vitest'
import {
  initialize,
  LEGACY_VERSIONS,
  META,
  MODERN,
  modern,
  modernMeta,
  type Params,
  post,
} from '../../test-support/clients.ts'
import { scene } from '../../test-support/scene.ts'
import { read } from '../../test-support/sse.ts'
import type { ProtocolVersion } from '../protocol.ts'

const ALL = [MODERN, '2025-11-25', '2025-06-18', '2025-03-26']
const request = (method: string, params: unknown, id: string | number = 9) => ({ jsonrpc: '2.0', id, method, params })
const headersFor = (method: string, version: string | undefined) => ({
  'mcp-protocol-version': version,
  'mcp-method': method,
})

describe('H-01 H-02 S45 Q-09 Q-50 server/discover', () => {
  test('names the versions served, newest first, the capabilities, and itself in _meta alone', async () => {
    const { message, status, headers } = await modern(scene().transport).request('server/discover')
    expect(status).toBe(200)
    expect(message.result).toMatchObject({
      supportedVersions: ALL,
      capabilities: { tools: {}, prompts: {}, resources: {} },
      instructions: 'be kind',
      resultType: 'complete',
      ttlMs: expect.any(Number),
      cacheScope: expect.stringMatching(/^(public|private)$/),
      _meta: { [`${META}serverInfo`]: { name: 'test', version: '1.2.3' } },
    })
    expect(message.result).not.toHaveProperty('serverInfo')
    expect(headers.has('mcp-session-id')).toBe(false)
  })

  test('only those that are really served', async () => {
    const versions: ProtocolVersion[] = ['2025-06-18', MODERN]
    const { message } = await modern(scene({ versions }).transport).request('server/discover')
    expect(message.result?.supportedVersions).toEqual([MODERN, '2025-06-18'])
  })
})

describe('S47 F-01 F-02 Q-34 _meta', () => {
  const without = (key: string) =>
    Object.fromEntries(Object.entries(modernMeta()).filter(([name]) => name !== META + key))
  const withKey = (key: string, value: unknown) => ({ _meta: modernMeta({ [META + key]: value }) })

  test.each<[string, unknown, number, number?]>([
    ['no params', undefined, 400, -32602],
    ['no _meta', {}, 400, -32602],
    ['_meta null', { _meta: null }, 400, -32602],
    ['_meta a list', { _meta: [] }, 400, -32602],
    ['_meta a number', { _meta: 5 }, 400, -32602],
    ['no protocolVersion', { _meta: without('protocolVersion') }, 400, -32602],
    ['protocolVersion a number', withKey('protocolVersion', 20260728), 400, -32602],
    ['protocolVersion null', withKey('protocolVersion', null), 400, -32602],
    ['no clientCapabilities', { _meta: without('clientCapabilities') }, 400, -32602],
    ['clientCapabilities a list', withKey('clientCapabilities', []), 400, -32602],
    ['clientCapabilities a text', withKey('clientCapabilities', 'all'), 400, -32602],
    ['clientCapabilities null', withKey('clientCapabilities', null), 400, -32602],
    ['F-18 an unknown logLevel', withKey('logLevel', 'loud'), 400, -32602],
    ['no clientInfo', { _meta: without('clientInfo') }, 200],
    ['clientInfo a text', withKey('clientInfo', 'me'), 200],
    ['clientInfo without a name', withKey('clientInfo', { version: 5 }), 200],
    ['keys of nobody', { _meta: modernMeta({ 'x.example/y': 1, traceparent: 'nonsense' }) }, 200],
  ])('%s: %j gives %i', async (_what, params, status, code) => {
    const { transport } = scene()
    for (const method of ['server/discover', 'tools/list']) {
      const answer = await read(post(transport, request(method, params), headersFor(method, MODERN)))
      expect({ status: answer.status, code: answer.message.error?.code, id: answer.message.id }).toEqual({
        status,
        code,
        id: 9,
      })
    }
  })

  test.each<[string, Params | undefined, string | undefined, number, number | undefined]>([
    ['both modern', modernMeta(), MODERN, 200, undefined],
    ['the body alone', modernMeta(), undefined, 400, -32020],
    ['the header alone', undefined, MODERN, 400, -32602],
    ['the body modern, the header legacy', modernMeta(), '2025-11-25', 400, -32020],
    ['neither: legacy, where a session is missing', undefined, undefined, 400, -32600],
    ['a legacy header: the same', undefined, '2025-11-25', 400, -32600],
    ['_meta of other things: the same', { progressToken: 1 }, undefined, 400, -32600],
  ])('Q-05 O-02 S44 the era by body and header: %s', async (_what, meta, header, status, code) => {
    const { transport } = scene()
    const params = meta ? { _meta: meta } : {}
    const answer = await read(post(transport, request('tools/list', params), headersFor('tools/list', header)))
    expect({ status: answer.status, code: answer.message.error?.code }).toEqual({ status, code })
  })
})

describe('F-03 Q-09 versions that are not served', () => {
  test.each(['server/discover', 'tools/list', 'foo/bar', 'initialize'])(
    '%s of 1900-01-01: 400 -32022 with what is',
    async (method) => {
      const { transport } = scene()
      const params = { _meta: modernMeta({}, '1900-01-01') }
      const answer = await read(post(transport, request(method, params), headersFor(method, '1900-01-01')))
      expect(answer).toMatchObject({ status: 400, message: { id: 9, error: { code: -32022 } } })
      expect(answer.message.error?.data).toEqual({ supported: ALL, requested: '1900-01-01' })
    },
  )

  test.each(LEGACY_VERSIONS)('a modern request that names %s: the same, and that one is left out', async (version) => {
    const { transport } = scene()
    const params = { _meta: modernMeta({}, version) }
    const answer = await read(post(transport, request('tools/list', params), headersFor('tools/list', version)))
    expect(answer).toMatchObject({ status: 400, message: { error: { code: -32022 } } })
    expect(answer.message.error?.data).toEqual({ supported: ALL.filter((one) => one !== version), requested: version })
  })
})

describe('Q-03 O-04 O-05 a modern-only server and the handshake', () => {
  const options = { versions: [MODERN] as ProtocolVersion[] }

  test.each<[string, string | undefined, object, number, number]>([
    ['no version header', undefined, {}, 400, -32020],
    ['a legacy version header', '2025-11-25', {}, 400, -32022],
    ['the full modern envelope', MODERN, modernMeta(), 404, -32601],
  ])('%s', async (_what, header, meta, status, code) => {
    const { transport } = scene(options)
    const body = initialize('2025-11-25') as { params: object }
    const params = { ...body.params, _meta: meta }
    const answer = await read(post(transport, { ...body, params }, headersFor('initialize', header)))
    expect({ status: answer.status, code: answer.message.error?.code, id: answer.message.id }).toEqual({
      status,
      code,
      id: 'init',
    })
    expect(answer.message.error?.message).toContain(MODERN)
    if (status === 400) expect(answer.message.error?.data).toMatchObject({ supported: [MODERN] })
    expect(answer.headers.has('mcp-session-id')).toBe(false)
  })

  test('O-05 O-07 other legacy requests: 400 with a modern error', async () => {
    const { transport } = scene(options)
    const answer = await read(post(transport, request('tools/list', {}), { 'mcp-session-id': 'x' }))
    expect(answer).toMatchObject({ status: 400, message: { id: 9, error: { code: -32020 } } })
  })
})
