// `npm start`: the lines that it prints for people to try do work.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { messagesOf, textOf } from '../fixtures/raw.ts'
import { INSPECTOR_VERSION, inspect } from './clients.ts'

const script = fileURLToPath(new URL('../scripts/start.mjs', import.meta.url))
const child = spawn(process.execPath, [script, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
let printed = ''

beforeAll(async () => {
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    printed += chunk
    if (/npx .*\n/.test(printed)) break
  }
})

afterAll(async () => {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

test('the curl line finds notes', async () => {
  const [, url] = /curl -s (\S+)/.exec(printed)!
  const headers = [...printed.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name, value]) => [name!, value!] as const)
  const [, body] = /-d '(.+)'/.exec(printed)!
  const response = await fetch(url!, { method: 'POST', headers: [...headers] as [string, string][], body })
  expect(response.status).toBe(200)
  const [message] = messagesOf(await response.text())
  expect(textOf(message!)).toContain('Rope for the jib')
})

test("the inspector's line lists the tools", async () => {
  const [, version, args] = /npx @modelcontextprotocol\/inspector@(\S+) (.+)/.exec(printed)!
  expect(version).toBe(INSPECTOR_VERSION)
  const { tools } = (await inspect(args!.split(' '))) as { tools: { name: string }[] }
  expect(tools.map(({ name }) => name)).toContain('search_notes')
})
