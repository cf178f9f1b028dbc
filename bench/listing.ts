// Two hundred tools: what tools/list costs the first time, and after that. No schema is converted twice.
import { createTransport, McpServer } from '@fairlead/core'

const TOOLS = 200
const CALLS = 2000
let conversions = 0

/** A Standard Schema that counts how often its JSON Schema is asked for. */
function counted(n: number) {
  const json = { type: 'object', properties: { text: { type: 'string', description: `argument of tool ${n}` } } }
  const convert = () => {
    conversions++
    return json
  }
  return {
    '~standard': {
      version: 1 as const,
      vendor: 'bench',
      validate: (value: unknown) => ({ value: value as { text: string } }),
      jsonSchema: { input: convert, output: convert },
    },
  }
}

const server = new McpServer({ name: 'listing', version: '1.0.0' })
for (let n = 0; n < TOOLS; n++) server.tool(`tool_${n}`, { inputSchema: counted(n) }, () => 'listed')
const transport = createTransport(server)

async function list(): Promise<number> {
  const start = performance.now()
  const response = await transport.handle(
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/list',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: {
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    }),
  )
  const { result } = (await response.json()) as { result: { tools: unknown[] } }
  if (result.tools.length !== TOOLS) throw new Error(`${result.tools.length} of ${TOOLS} tools were listed`)
  return performance.now() - start
}

const firstMs = await list()
const atFirst = conversions
const times: number[] = []
for (let i = 0; i < CALLS; i++) times.push(await list())
times.sort((a, b) => a - b)
const medianMs = times[CALLS / 2]!
const later = conversions - atFirst
await transport.close()
console.log(
  `listing of ${TOOLS} tools: first ${firstMs.toFixed(2)} ms with ${atFirst} conversions, ` +
    `then ${medianMs.toFixed(2)} ms (median of ${CALLS}) with ${later}`,
)
if (later > 0) throw new Error(`${later} schemas were converted after the first listing`)
