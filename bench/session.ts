// The legacy handshake, done before anything is measured.
import { sseMessages } from './check.ts'

export const LEGACY_VERSION = '2025-06-18' // the newest that every peer speaks

async function post(url: string, headers: Record<string, string>, message: unknown): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(message),
  })
}

/** Opens a session and gives its id. */
export async function openSession(url: string, accept: string): Promise<string> {
  const response = await post(
    url,
    { Accept: accept },
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: LEGACY_VERSION,
        capabilities: {},
        clientInfo: { name: 'bench-load', version: '1.0.0' },
      },
    },
  )
  const body = await response.text()
  const id = response.headers.get('mcp-session-id')
  if (!response.ok || id === null) throw new Error(`initialize: status ${response.status}, session ${id}: ${body}`)
  const sse = response.headers.get('content-type')?.startsWith('text/event-stream')
  const { result } = JSON.parse(sse ? (sseMessages(body)[0] ?? '{}') : body)
  if (result?.protocolVersion !== LEGACY_VERSION) throw new Error(`initialize: wrong version in ${body}`)

  const initialized = await post(
    url,
    { Accept: accept, 'Mcp-Session-Id': id, 'MCP-Protocol-Version': LEGACY_VERSION },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
  )
  await initialized.body?.cancel()
  if (initialized.status !== 202) throw new Error(`notifications/initialized: status ${initialized.status}`)
  return id
}
