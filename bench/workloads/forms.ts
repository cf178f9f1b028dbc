// The five forms of a call: what the client sends and what it must get.
import type { Expected } from '../check.ts'
import { FIRST_ID, type PreparedRequest, prepareRequest } from '../requests.ts'
import { BOTH_FORMS, type Served, TEXT } from '../servers/server.ts'
import { LEGACY_VERSION, openSession } from '../session.ts'

const MODERN_VERSION = '2026-07-28'
const STEPS = 10

export interface Form {
  name: string
  title: string
  era: 'legacy' | 'modern'
  sessions: boolean
  accept: string
  tool: 'echo' | 'progress'
  answer: Expected['form']
}

export const FORMS: readonly Form[] = [
  {
    name: 'legacy-both',
    title: 'legacy session, client accepts JSON and SSE, the server chooses',
    era: 'legacy',
    sessions: true,
    accept: BOTH_FORMS,
    tool: 'echo',
    answer: 'either',
  },
  {
    name: 'legacy-json',
    title: 'legacy session, answered as JSON',
    era: 'legacy',
    sessions: true,
    accept: 'application/json',
    tool: 'echo',
    answer: 'json',
  },
  {
    name: 'legacy-stateless',
    title: 'legacy without a session, client accepts JSON and SSE',
    era: 'legacy',
    sessions: false,
    accept: BOTH_FORMS,
    tool: 'echo',
    answer: 'either',
  },
  {
    name: 'modern',
    title: 'modern (2026-07-28), all headers',
    era: 'modern',
    sessions: false,
    accept: BOTH_FORMS,
    tool: 'echo',
    answer: 'either',
  },
  {
    name: 'progress',
    title: '10 progress steps over SSE, legacy session',
    era: 'legacy',
    sessions: true,
    accept: BOTH_FORMS,
    tool: 'progress',
    answer: 'sse',
  },
]

export function expectedOf(form: Form): Expected {
  return {
    text: TEXT,
    steps: form.tool === 'progress' ? STEPS : 0,
    form: form.answer,
    modern: form.era === 'modern',
  }
}

/** Opens a session for each connection where the workload has sessions, and makes the requests. */
export async function prepare(form: Form, served: Served, connections: number): Promise<readonly PreparedRequest[]> {
  const url = new URL(served.url)
  const accept = served.accept ?? form.accept
  const requests: PreparedRequest[] = []
  for (let i = 0; i < connections; i++) {
    const headers: Record<string, string> = { 'Content-Type': 'application/json', Accept: accept }
    if (form.era === 'modern') {
      headers['MCP-Protocol-Version'] = MODERN_VERSION
      headers['Mcp-Method'] = 'tools/call'
      headers['Mcp-Name'] = form.tool
    } else {
      headers['MCP-Protocol-Version'] = LEGACY_VERSION
    }
    if (form.sessions) {
      const known = served.handshake !== false
      headers['Mcp-Session-Id'] = known ? await openSession(served.url, accept) : crypto.randomUUID()
    }
    requests.push(prepareRequest(url, headers, callOf(form)))
  }
  return requests
}

function callOf(form: Form): unknown {
  const meta: Record<string, unknown> = {}
  if (form.tool === 'progress') meta.progressToken = FIRST_ID
  if (form.era === 'modern') {
    meta['io.modelcontextprotocol/protocolVersion'] = MODERN_VERSION
    meta['io.modelcontextprotocol/clientInfo'] = { name: 'bench-load', version: '1.0.0' }
    meta['io.modelcontextprotocol/clientCapabilities'] = {}
  }
  const params: Record<string, unknown> = {
    name: form.tool,
    arguments: form.tool === 'progress' ? { n: STEPS } : { text: TEXT },
  }
  if (Object.keys(meta).length > 0) params._meta = meta
  return { jsonrpc: '2.0', id: FIRST_ID, method: 'tools/call', params }
}
