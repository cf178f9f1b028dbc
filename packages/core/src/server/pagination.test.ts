import { describe, expect, test } from 'vitest'
import { ALL_VERSIONS, clientOf, modern } from '../../test-support/clients.ts'
import { mcp, resultOf } from '../../test-support/mcp.ts'
import { scene } from '../../test-support/scene.ts'
import { fromCursor, toCursor } from './cursor.ts'
import type { McpServer } from './index.ts'

/** What a listing is of, as many as are asked for. */
const KINDS: Record<string, (server: McpServer, i: number) => { remove(): void }> = {
  'tools/list': (server, i) => server.tool(`item${i}`, {}, () => 'x'),
  'prompts/list': (server, i) => server.prompt(`item${i}`, {}, () => 'x'),
  'resources/list': (server, i) => server.resource(`a://item${i}`, {}, () => 'x'),
  'resources/templates/list': (server, i) => server.resource(`a://item${i}/{b}`, {}, () => 'x'),
}

/** The numbers of the items, page by page. */
const numbersOf = (result: { [key: string]: unknown }) => {
  const items = Object.values(result).find((member) => Array.isArray(member)) as object[]
  return items.map((item) => Number(/item(\d+)/.exec(JSON.stringify(item))![1]))
}

function served(method: string, count: number, pageSize?: number) {
  const server = mcp(pageSize === undefined ? {} : { pageSize })
  const registered = Array.from({ length: count }, (_, i) => KINDS[method]!(server, i))
  return { registered, ...scene({}, server) }
}

describe.each(ALL_VERSIONS)('%s', (version) => {
  describe.each(Object.keys(KINDS))('%s', (method) => {
    test('L-05 pages of two out of five, and no cursor on the last', async () => {
      const client = await clientOf(served(method, 5, 2).transport, version)
      const pages: number[][] = []
      let cursor: unknown
      do {
        const result = resultOf(await client.request(method, cursor === undefined ? {} : { cursor }))
        pages.push(numbersOf(result))
        cursor = result.nextCursor
        expect(cursor).not.toBe('')
      } while (cursor !== undefined)
      expect(pages).toEqual([[0, 1], [2, 3], [4]])
    })

    test('L-05 no cursor where the last page is full', async () => {
      const client = await clientOf(served(method, 4, 2).transport, version)
      const { nextCursor } = resultOf(await client.request(method))
      expect(resultOf(await client.request(method, { cursor: nextCursor }))).not.toHaveProperty('nextCursor')
    })

    test('L-05 Q-45 a cursor that is not ours: -32602, an empty one too', async () => {
      const client = await clientOf(served(method, 5, 2).transport, version)
      const { nextCursor } = resultOf(await client.request(method)) as { nextCursor: string }
      const forged = Buffer.from(Buffer.from(nextCursor, 'base64').toString().replace(/ \d/, ' 3')).toString('base64')
      const cursors = ['junk', '', 'MQ==', '%', 5, null, {}, ['x'], nextCursor.slice(1), `${nextCursor}A`, forged]
      for (const cursor of cursors) {
        const { status, message } = await client.request(method, { cursor })
        expect({ status, error: message.error }, JSON.stringify(cursor)).toEqual({
          status: 200,
          error: { code: -32602, message: 'params.cursor is not valid' },
        })
      }
    })

    test('L-05 S26 R28 a cursor goes on at another node, after a restart, and after a change', async () => {
      const cursor = async (transport: ReturnType<typeof served>['transport']) =>
        resultOf(await (await clientOf(transport, version)).request(method)).nextCursor
      const given = await cursor(served(method, 5, 2).transport)
      const rest = async ({ transport }: ReturnType<typeof served>) => {
        const client = await clientOf(transport, version)
        return numbersOf(resultOf(await client.request(method, { cursor: given })))
      }
      expect(await rest(served(method, 5, 2))).toEqual([2, 3])
      expect(await rest(served(method, 5, 10))).toEqual([2, 3, 4])
      for (const [removed, expected] of [
        [0, [2, 3]],
        [1, [2, 3]],
        [2, [3, 4]],
      ] as const) {
        const other = served(method, 5, 2)
        other.registered[removed]!.remove()
        expect(await rest(other), `without ${removed}`).toEqual(expected)
      }
      expect(await rest(served(method, 1, 2)), 'a list that has shrunk').toEqual([])
    })

    test('L-05 1,000 items in a page if nothing else is asked for', async () => {
      const client = await clientOf(served(method, 1001).transport, version)
      const result = resultOf(await client.request(method))
      expect(numbersOf(result)).toHaveLength(1000)
      const { nextCursor: cursor } = result
      expect(numbersOf(resultOf(await client.request(method, { cursor })))).toEqual([1000])
    })
  })
})

test('L-05 a cursor of one listing is none of another', async () => {
  const server = mcp({ pageSize: 1 })
  for (const add of Object.values(KINDS)) for (const i of [0, 1]) add(server, i)
  const client = modern(scene({}, server).transport)
  for (const method of Object.keys(KINDS)) {
    const { nextCursor: cursor } = resultOf(await client.request(method))
    for (const other of Object.keys(KINDS)) {
      const { message } = await client.request(other, { cursor })
      expect(message.error?.code, `${method} at ${other}`).toBe(other === method ? undefined : -32602)
    }
  }
})

test.each([0, -1, 0.5, '2', Number.NaN])('L-05 a page size of %j is refused', (pageSize) => {
  expect(() => mcp({ pageSize: pageSize as number })).toThrow(
    'McpServer: option pageSize: must be a whole number from 1',
  )
})

test('L-05 names of any kind', () => {
  const names = ['a b', 'é世', 'x\ny', '', '"']
  for (const [i, name] of names.entries()) {
    expect(fromCursor('tools', toCursor('tools', i, name), names)).toBe(i + 1)
    expect(toCursor('tools', i, name)).toMatch(/^[A-Za-z0-9+/]+=*$/)
  }
})
