import { createTransport } from '@fairlead/node'
import { beforeEach, describe, expect, test } from 'vitest'
import { createNotes, type Notes } from './notes.ts'
import { createNotesServer } from './server.ts'

let notes: Notes

beforeEach(() => {
  notes = createNotes()
})

describe('notes', () => {
  test('are found by all words, the title first, and by the start of a word', () => {
    notes.add('Harbour', 'A rope for the berth.')
    notes.add('Ropes', 'For the jib.')
    notes.add('Knots', 'A bowline.')
    expect(notes.search('ROPE').map(({ title }) => title)).toEqual(['Ropes', 'Harbour'])
    expect(notes.search('rope berth').map(({ title }) => title)).toEqual(['Harbour'])
    expect(notes.search(' ,')).toEqual([])
  })

  test('are bounded', () => {
    for (let i = 0; i < 1000; i++) notes.add(`${i}`, '')
    expect(() => notes.add('one more', '')).toThrow(RangeError)
    notes.delete('1')
    notes.add('one more', '')
    expect(notes.list()).toHaveLength(1000)
  })
})

describe('the notes server, without a socket', () => {
  interface Message {
    method?: string
    params?: { progress: number; message: string }
    result?: { content: { text: string }[]; isError?: boolean }
  }

  async function call(name: string, args: Record<string, unknown> = {}): Promise<Message[]> {
    const transport = createTransport(createNotesServer(notes, { readMs: 1 }))
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      progressToken: 'p',
    }
    const params = { name, arguments: args, _meta }
    const response = await transport.handle(
      new Request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': name,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      }),
    )
    const text = await response.text()
    await transport.close()
    return text.startsWith('{')
      ? [JSON.parse(text)]
      : [...text.matchAll(/^data: (.+)$/gm)].map((m) => JSON.parse(m[1]!))
  }
  const textOf = (messages: Message[]) => messages.at(-1)!.result?.content[0]?.text

  test('keeps, lists, finds, reads and deletes', async () => {
    expect(textOf(await call('add_note', { title: 'Rope', text: 'Twelve metres.' }))).toBe('Kept as note 1.')
    expect(textOf(await call('list_notes'))).toBe('1: Rope')
    expect(textOf(await call('search_notes', { query: 'metres' }))).toBe('1: Rope')
    expect(textOf(await call('search_notes', { query: 'anchor' }))).toBe('No notes.')
    expect(textOf(await call('read_note', { id: '1' }))).toBe('Rope\n\nTwelve metres.')
    expect(textOf(await call('delete_note', { id: '1' }))).toBe('Deleted note 1.')
    expect(textOf(await call('list_notes'))).toBe('No notes.')
  })

  test('tells the model what was wrong', async () => {
    const [missing] = await call('read_note', { id: '7' })
    expect(missing!.result).toMatchObject({ isError: true, content: [{ text: 'There is no note 7.' }] })
    const [empty] = await call('add_note', { title: ' ', text: '' })
    expect(empty!.result?.isError).toBe(true)
  })

  test('reads all notes for a summary, with a progress message for each', async () => {
    notes.add('Rope', 'rope rope harbour')
    notes.add('Knots', 'rope')
    const messages = await call('summarize_notes')
    expect(messages.slice(0, -1).map(({ params }) => [params!.progress, params!.message])).toEqual([
      [1, 'Knots'],
      [2, 'Rope'],
    ])
    expect(textOf(messages)).toBe('2 notes, mostly about: rope (4), knots (1), harbour (1)')
  })
})
