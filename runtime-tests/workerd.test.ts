// The built core, bundled as an app would, under workerd.
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { legacyCall, legacyHandshake, modernCall, post, textOf } from '../fixtures/raw.ts'
import { startWorkerd, type Workerd } from './workerd.ts'

const HELLO = `import { createTransport, McpServer } from '@fairlead/core'
import * as v from 'valibot'

const server = new McpServer({ name: 'hello', version: '1.0.0' })
server.tool('greet', { inputSchema: v.object({ name: v.string() }) }, ({ name }) => \`Hello, \${name}!\`)
server.tool('count', { inputSchema: v.object({ to: v.number() }) }, async ({ to }, ctx) => {
  for (let n = 1; n <= to; n++) {
    await new Promise((done) => setTimeout(done, 20))
    await ctx.progress(n, to)
  }
  return 'counted'
})
export default createTransport(server)
`

let workerd: Workerd

beforeAll(async () => {
  // In the workspace, so that the packages resolve as they do for an app.
  const folder = fileURLToPath(new URL('./out/workerd', import.meta.url))
  await mkdir(folder, { recursive: true })
  await writeFile(`${folder}/hello.js`, HELLO)
  const bundle = await rolldown({
    input: `${folder}/hello.js`,
    platform: 'neutral',
    // Those of Wrangler.
    resolve: { conditionNames: ['workerd', 'worker', 'browser', 'import'] },
    logLevel: 'silent',
  })
  await bundle.write({ file: `${folder}/worker.js`, format: 'esm', codeSplitting: false })
  await bundle.close()
  workerd = await startWorkerd(folder)
})

afterAll(async () => {
  await workerd?.stop()
})

test('workerd: a modern client calls a tool', async () => {
  const { status, messages } = await modernCall(workerd.url, 'greet', { name: 'Ada' })
  expect(status).toBe(200)
  expect(messages.map(textOf)).toEqual(['Hello, Ada!'])
})

test('workerd: a legacy client shakes hands, lists and calls', async () => {
  const session = await legacyHandshake(workerd.url)
  expect(session['mcp-session-id']).toMatch(/^[\x21-\x7e]{16,}$/)
  const listed = await post(workerd.url, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { headers: session })
  expect(listed.messages[0]!.result.tools.map(({ name }: { name: string }) => name)).toEqual(['greet', 'count'])
  expect(listed.messages[0]!.result.tools[0].inputSchema.required).toEqual(['name'])
  const { status, messages } = await legacyCall(workerd.url, session, 'greet', { name: 'Ada' })
  expect(status).toBe(200)
  expect(messages.map(textOf)).toEqual(['Hello, Ada!'])
})

test('workerd: progress comes as an event stream, before the result', async () => {
  const { headers, messages } = await modernCall(workerd.url, 'count', { to: 3 }, { meta: { progressToken: 'p' } })
  expect(headers.get('content-type')).toBe('text/event-stream')
  expect(messages.slice(0, 3).map(({ params }) => params?.progress)).toEqual([1, 2, 3])
  expect(textOf(messages[3]!)).toBe('counted')
})

test('workerd: nothing went uncaught', () => {
  expect(workerd.errors()).toBe('')
})
