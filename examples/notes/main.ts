// Serves the notes: `npm start`, or `npm start -- --port 4000`.
import { parseArgs } from 'node:util'
import { createTransport, serve } from '@fairlead/node'
import { createNotes } from './notes.ts'
import { createNotesServer } from './server.ts'

const { values } = parseArgs({ options: { port: { type: 'string', default: process.env.PORT ?? '3000' } } })

const notes = createNotes()
notes.add('Rope for the jib', 'Twelve metres of 10 mm rope, and a fairlead that does not chafe it.')
notes.add('Harbour', 'The harbour master is in from eight to noon. Ask for a berth with water.')
notes.add('Knots', 'A bowline for the rope at the bow, two half hitches for the fender.')

const transport = createTransport(createNotesServer(notes))
const { url } = await serve(transport, { port: Number(values.port) }).catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'EADDRINUSE') throw error
  console.error(`Port ${values.port} is taken. Try: npm start -- --port 0`)
  process.exit(1)
})

const call = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'search_notes',
    arguments: { query: 'rope' },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
}
console.log(`Notes are served at ${url}

Search them:

  curl -s ${url} \\
    -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \\
    -H 'mcp-protocol-version: 2026-07-28' -H 'mcp-method: tools/call' -H 'mcp-name: search_notes' \\
    -d '${JSON.stringify(call)}'

Connect the official inspector:

  npx @modelcontextprotocol/inspector@2.12.0 --cli ${url} --transport http --method tools/list
`)
