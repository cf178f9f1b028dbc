// The notes as an MCP server: five quick tools, and a slow one that reports its progress.
import { setTimeout as sleep } from 'node:timers/promises'
import { McpServer, ToolError } from '@fairlead/node'
import * as v from 'valibot'
import { type Note, type Notes, wordsOf } from './notes.ts'

export interface NotesServerOptions {
  /** What `summarize_notes` takes for each note, so that there is something to watch. Default: 300 ms. */
  readMs?: number
}

const title = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(200))
const text = v.pipe(v.string(), v.maxLength(10_000))
const id = v.pipe(v.string(), v.maxLength(20))
const limit = v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)), 20)

export function createNotesServer(notes: Notes, { readMs = 300 }: NotesServerOptions = {}): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' })

  const add = { description: 'Keeps a note.', inputSchema: v.object({ title, text }) }
  server.tool('add_note', add, ({ title, text }) => {
    try {
      return `Kept as note ${notes.add(title, text).id}.`
    } catch (error) {
      if (error instanceof RangeError) throw new ToolError(error.message)
      throw error
    }
  })

  const list = { description: 'Lists the notes, newest first.', inputSchema: v.object({ limit }) }
  server.tool('list_notes', list, ({ limit }) => lines(notes.list(), limit))

  const search = {
    description: 'Finds notes that have all of the words.',
    inputSchema: v.object({ query: v.pipe(v.string(), v.maxLength(200)), limit }),
  }
  server.tool('search_notes', search, ({ query, limit }) => lines(notes.search(query), limit))

  server.tool('read_note', { description: 'Returns one note.', inputSchema: v.object({ id }) }, ({ id }) => {
    const note = notes.get(id)
    if (!note) throw new ToolError(`There is no note ${id}.`)
    return `${note.title}\n\n${note.text}`
  })

  server.tool('delete_note', { description: 'Deletes one note.', inputSchema: v.object({ id }) }, ({ id }) => {
    if (!notes.delete(id)) throw new ToolError(`There is no note ${id}.`)
    return `Deleted note ${id}.`
  })

  const summarize = { description: 'Reads all notes, one after the other, and says what they are about.' }
  server.tool('summarize_notes', summarize, async (_, ctx) => {
    const all = notes.list()
    const counts = new Map<string, number>()
    for (const [read, note] of all.entries()) {
      await sleep(readMs, undefined, { signal: ctx.signal })
      for (const word of wordsOf(`${note.title} ${note.text}`)) {
        // Short words say little.
        if (word.length > 3) counts.set(word, (counts.get(word) ?? 0) + 1)
      }
      await ctx.progress(read + 1, all.length, note.title)
    }
    const top = [...counts].sort(([, a], [, b]) => b - a).slice(0, 5)
    return `${all.length} notes, mostly about: ${top.map(([word, n]) => `${word} (${n})`).join(', ') || 'nothing yet'}`
  })

  return server
}

function lines(found: readonly Note[], limit: number): string {
  if (found.length === 0) return 'No notes.'
  const shown = found.slice(0, limit).map(({ id, title }) => `${id}: ${title}`)
  if (found.length > limit) shown.push(`… and ${found.length - limit} more`)
  return shown.join('\n')
}
