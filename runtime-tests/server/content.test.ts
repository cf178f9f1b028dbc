// Content of tools, prompts and resources: every kind, as each revision knows it.
import type { ContentInput } from '@fairlead/core'
import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, clientOf } from '../../packages/core/test-support/clients.ts'
import { mcp, resultOf } from '../../packages/core/test-support/mcp.ts'
import { scene } from '../../packages/core/test-support/scene.ts'

const BYTES = new Uint8Array([0, 255, 16, 128])
const BASE64 = 'AP8QgA=='
const annotations = { audience: ['user' as const], priority: 0.5, lastModified: '2025-01-12T15:00:58Z' }
const _meta = { 'own.example/a': 1 }
const icons = [{ src: 'data:image/png;base64,AA==', mimeType: 'image/png', sizes: ['48x48'] }]

/** What is given, and what goes out in the oldest revision, in 2025-06-18, and in the later ones. */
interface Kind {
  given: ContentInput
  march: object
  june: object
  later?: object
}
const oldAnnotations = { audience: ['user'], priority: 0.5 }
const link = { type: 'resource_link' as const, uri: 'note://a', name: 'a', title: 'A', mimeType: 'text/plain', size: 5 }

const KINDS: Readonly<Record<string, Kind>> = {
  text: {
    given: { type: 'text', text: 'x', annotations, _meta },
    march: { type: 'text', text: 'x', annotations: oldAnnotations },
    june: { type: 'text', text: 'x', annotations, _meta },
  },
  'image of bytes': {
    given: { type: 'image', data: BYTES, mimeType: 'image/png' },
    march: { type: 'image', data: BASE64, mimeType: 'image/png' },
    june: { type: 'image', data: BASE64, mimeType: 'image/png' },
  },
  'audio of base64': {
    given: {
      type: 'audio',
      data: BASE64,
      mimeType: 'audio/ogg; codecs=opus',
      annotations: { lastModified: '2025-01-12' },
    },
    march: { type: 'audio', data: BASE64, mimeType: 'audio/ogg; codecs=opus' },
    june: {
      type: 'audio',
      data: BASE64,
      mimeType: 'audio/ogg; codecs=opus',
      annotations: { lastModified: '2025-01-12' },
    },
  },
  'no bytes': {
    given: { type: 'image', data: new Uint8Array(), mimeType: 'image/png' },
    march: { type: 'image', data: '', mimeType: 'image/png' },
    june: { type: 'image', data: '', mimeType: 'image/png' },
  },
  'embedded text': {
    given: { type: 'resource', resource: { uri: 'note://a', text: '', _meta } },
    march: { type: 'resource', resource: { uri: 'note://a', mimeType: 'text/plain', text: '' } },
    june: { type: 'resource', resource: { uri: 'note://a', mimeType: 'text/plain', text: '', _meta } },
  },
  'embedded bytes': {
    given: { type: 'resource', resource: { uri: 'note://a', mimeType: 'image/png', blob: BYTES }, annotations, _meta },
    march: {
      type: 'resource',
      resource: { uri: 'note://a', mimeType: 'image/png', blob: BASE64 },
      annotations: oldAnnotations,
    },
    june: { type: 'resource', resource: { uri: 'note://a', mimeType: 'image/png', blob: BASE64 }, annotations, _meta },
  },
  'embedded bytes of no type': {
    given: { type: 'resource', resource: { uri: 'note://a', blob: BYTES } },
    march: { type: 'resource', resource: { uri: 'note://a', mimeType: 'application/octet-stream', blob: BASE64 } },
    june: { type: 'resource', resource: { uri: 'note://a', mimeType: 'application/octet-stream', blob: BASE64 } },
  },
  link: {
    given: { ...link, icons, annotations, _meta },
    march: { type: 'text', text: 'A: note://a', annotations: oldAnnotations },
    june: { ...link, annotations, _meta },
    later: { ...link, icons, annotations, _meta },
  },
  'link without a title': {
    given: { type: 'resource_link', uri: 'note://a', name: 'a' },
    march: { type: 'text', text: 'a: note://a' },
    june: { type: 'resource_link', uri: 'note://a', name: 'a' },
  },
}

const INVALID: Readonly<Record<string, unknown>> = {
  'an image of no base64': { type: 'image', data: 'a b', mimeType: 'image/png' },
  'an image of base64url': { type: 'image', data: '_-8=', mimeType: 'image/png' },
  'an image of no data': { type: 'image', mimeType: 'image/png' },
  'an image of no type': { type: 'image', data: BASE64 },
  'audio of a wrong type': { type: 'audio', data: BASE64, mimeType: 'ogg' },
  'a resource of no URI': { type: 'resource', resource: { text: 'x' } },
  'a resource of a wrong URI': { type: 'resource', resource: { uri: 'a b', text: 'x' } },
  'a resource of nothing': { type: 'resource', resource: { uri: 'note://a' } },
  'no resource': { type: 'resource' },
  'a link of no URI': { type: 'resource_link', name: 'a' },
  'a link of a relative URI': { type: 'resource_link', uri: 'a', name: 'a' },
  'a link of no name': { type: 'resource_link', uri: 'note://a' },
  'a link of an evil icon': {
    type: 'resource_link',
    uri: 'note://a',
    name: 'a',
    icons: [{ src: 'javascript:alert(1)' }],
  },
  'priority 2': { type: 'text', text: 'x', annotations: { priority: 2 } },
  'an unknown audience': { type: 'text', text: 'x', annotations: { audience: ['all'] } },
  'a time that is none': { type: 'text', text: 'x', annotations: { lastModified: 'yesterday' } },
  'an unknown kind': { type: 'video', data: BASE64 },
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  const shown = ({ march, june, later = june }: Kind) =>
    version === '2025-03-26' ? march : version === '2025-06-18' ? june : later

  test.each(Object.keys(KINDS))('L-21 L-22 L-34 P-22 Q-43 %s, of a tool and of a prompt', async (name) => {
    const { given } = KINDS[name]!
    const server = mcp()
    server.tool('one', {}, () => given)
    server.tool('many', {}, () => [given, given])
    server.tool('whole', {}, () => ({ content: [given] }))
    server.prompt('both', {}, () => [
      { role: 'user', content: given },
      { role: 'assistant', content: given },
    ])
    const client = await clientOf(scene({}, server).transport, version)
    const expected = shown(KINDS[name]!)
    expect(resultOf(await client.call('one')).content).toEqual([expected])
    expect(resultOf(await client.call('many')).content).toEqual([expected, expected])
    expect(resultOf(await client.call('whole')).content).toEqual([expected])
    expect(resultOf(await client.request('prompts/get', { name: 'both' })).messages).toEqual([
      { role: 'user', content: expected },
      { role: 'assistant', content: expected },
    ])
  })

  test.each(Object.keys(INVALID))('L-22 L-28 L-34 L-29 %s never goes out', async (name) => {
    const server = mcp()
    server.tool('tool', {}, () => INVALID[name] as ContentInput)
    server.prompt('prompt', {}, () => [{ role: 'user', content: INVALID[name] as ContentInput }])
    const { transport, reported } = scene({}, server)
    const client = await clientOf(transport, version)
    expect(resultOf(await client.call('tool'))).toMatchObject({
      isError: true,
      content: [{ text: 'the tool has failed' }],
    })
    const { message } = await client.request('prompts/get', { name: 'prompt' })
    expect(message.error).toEqual({ code: -32603, message: 'internal error' })
    expect(reported.map(({ error }) => error)).toEqual([expect.any(TypeError), expect.any(TypeError)])
  })

  test('L-22 many bytes are base64 whole', async () => {
    const bytes = Uint8Array.from({ length: 100_001 }, (_, i) => (i * 31) % 256)
    const server = mcp()
    server.tool('large', {}, () => ({ type: 'image', data: bytes, mimeType: 'image/png' }))
    const client = await clientOf(scene({}, server).transport, version)
    const [{ data }] = resultOf<{ content: [{ data: string }] }>(await client.call('large')).content
    expect(data).toBe(Buffer.from(bytes).toString('base64'))
  })
})
