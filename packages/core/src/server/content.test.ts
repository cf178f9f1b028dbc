import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, clientOf } from '../../test-support/clients.ts'
import { mcp, resultOf } from '../../test-support/mcp.ts'
import { scene } from '../../test-support/scene.ts'
import type { ContentInput } from './index.ts'

const BYTES = new Uint8Array([0, 250, 255])
const BASE64 = 'APr/'
const ICON = { src: 'https://x.example/icon.png' }
const lastModified = '2026-07-28T00:00:00Z'

describe.each(ALL_VERSIONS)('%s', (version) => {
  /** What a tool's and a prompt's content becomes. */
  async function sent(content: ContentInput) {
    const server = mcp()
    server.tool('returns', {}, () => content)
    server.prompt('returns', {}, () => [{ role: 'assistant', content }])
    const { transport, reported } = scene({}, server)
    const client = await clientOf(transport, version)
    const tool = resultOf<{ content: unknown[]; isError?: boolean }>(await client.call('returns'))
    const { message } = await client.request('prompts/get', { name: 'returns' })
    if (tool.isError) expect(message.error).toEqual({ code: -32603, message: 'internal error' })
    else expect(message.result?.messages).toEqual([{ role: 'assistant', content: tool.content[0] }])
    return { content: tool.content[0], isError: tool.isError, reported }
  }

  test.each<[string, ContentInput, object]>([
    ['text', { type: 'text', text: 'é世' }, { type: 'text', text: 'é世' }],
    [
      'bytes of an image',
      { type: 'image', data: BYTES, mimeType: 'image/png' },
      { type: 'image', data: BASE64, mimeType: 'image/png' },
    ],
    [
      'base64 of a sound',
      { type: 'audio', data: BASE64, mimeType: 'audio/wav' },
      { type: 'audio', data: BASE64, mimeType: 'audio/wav' },
    ],
    [
      'a resource of text, which gets a type',
      { type: 'resource', resource: { uri: 'a://b', text: 'x' } },
      { type: 'resource', resource: { uri: 'a://b', mimeType: 'text/plain', text: 'x' } },
    ],
    [
      'a resource of bytes',
      { type: 'resource', resource: { uri: 'a://b', blob: BYTES } },
      { type: 'resource', resource: { uri: 'a://b', mimeType: 'application/octet-stream', blob: BASE64 } },
    ],
    [
      'a resource with a type of its own',
      { type: 'resource', resource: { uri: 'a://b', mimeType: 'text/html; charset=utf-8', text: '' } },
      { type: 'resource', resource: { uri: 'a://b', mimeType: 'text/html; charset=utf-8', text: '' } },
    ],
  ])('L-21 L-22 %s', async (_, given, expected) => {
    expect((await sent(given)).content).toEqual(expected)
  })

  test.each<[string, unknown]>([
    ['an image that is not base64', { type: 'image', data: 'not base64!', mimeType: 'image/png' }],
    ['an image of half a byte', { type: 'image', data: 'A', mimeType: 'image/png' }],
    ['an image without a type', { type: 'image', data: BASE64 }],
    ['an image of a wrong type', { type: 'image', data: BASE64, mimeType: 'png' }],
    ['an image that is a list of numbers', { type: 'image', data: [1], mimeType: 'image/png' }],
    ['a text that is a number', { type: 'text', text: 5 }],
    ['a resource without contents', { type: 'resource', resource: { uri: 'a://b' } }],
    ['a resource without a URI', { type: 'resource', resource: { text: 'x' } }],
    ['a resource of a wrong URI', { type: 'resource', resource: { uri: 'a b', text: 'x' } }],
    ['no resource', { type: 'resource' }],
    ['a link of a wrong URI', { type: 'resource_link', uri: 'no uri', name: 'x' }],
    ['a link without a name', { type: 'resource_link', uri: 'a://b' }],
    ['a link with a bad icon', { type: 'resource_link', uri: 'a://b', name: 'b', icons: [{ src: 'javascript:x' }] }],
    ['a priority of 2', { type: 'text', text: 'x', annotations: { priority: 2 } }],
    ['a kind that no revision knows here', { type: 'tool_use', id: '1', name: 'x', input: {} }],
  ])('L-22 L-34 %s never goes out', async (_, given) => {
    const { isError, reported } = await sent(given as ContentInput)
    expect(isError).toBe(true)
    expect(reported).toHaveLength(2)
    for (const { error } of reported) expect(String(error)).toMatch(/content|resource/)
  })

  test('L-21 P-22 a link is a text for 2025-03-26', async () => {
    const link: ContentInput = {
      type: 'resource_link',
      uri: 'a://b',
      name: 'b',
      title: 'The b',
      description: 'of a',
      mimeType: 'text/plain',
      size: 5,
      icons: [ICON],
      annotations: { priority: 1, lastModified },
      _meta: { 'own.example/a': 1 },
    }
    const { icons, ...known } = link
    const { content } = await sent(link)
    if (version === '2025-03-26') {
      expect(content).toEqual({ type: 'text', text: 'The b: a://b', annotations: { priority: 1 } })
    } else expect(content).toEqual(version === '2025-06-18' ? known : link)
  })

  test('L-34 P-22 annotations are known to all, lastModified and _meta from 2025-06-18 on', async () => {
    const extras = { annotations: { audience: ['user' as const], lastModified }, _meta: { 'own.example/a': 1 } }
    const isOld = version === '2025-03-26'
    const known = isOld ? { annotations: { audience: ['user'] } } : extras
    expect((await sent({ type: 'text', text: 'x', ...extras })).content).toEqual({ type: 'text', text: 'x', ...known })
    const embedded = { uri: 'a://b', mimeType: 'text/plain', text: 'x' }
    const { content } = await sent({ type: 'resource', resource: { ...embedded, _meta: extras._meta }, ...extras })
    const resource = isOld ? embedded : { ...embedded, _meta: extras._meta }
    expect(content).toEqual({ type: 'resource', resource, ...known })
    const dated = { type: 'text' as const, text: 'x', annotations: { lastModified } }
    expect((await sent(dated)).content).toEqual(isOld ? { type: 'text', text: 'x' } : dated)
  })
})
