// The README's hello world, as it stands there: compiled against our packages, run, called.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { beforeAll, expect, test } from 'vitest'
import { modernCall, textOf } from '../fixtures/raw.ts'

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const folder = path('./out/readme')

beforeAll(async () => {
  const readme = await readFile(path('../README.md'), 'utf8')
  const [block, ...others] = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]!)
  expect(others).toEqual([])
  await mkdir(folder, { recursive: true })
  await writeFile(`${folder}/hello.ts`, block!)
})

test('README: hello world compiles', async () => {
  const config = {
    extends: '../../../tsconfig.test.json',
    compilerOptions: { types: ['node'] },
    include: ['hello.ts'],
    exclude: [],
  }
  await writeFile(`${folder}/tsconfig.json`, JSON.stringify(config))
  const tsc = path('../node_modules/typescript/bin/tsc')
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', folder]).catch((error) => error)
  expect(stdout).toBe('')
})

test('README: hello world runs, prints its URL, greets in both eras, and ends in good order', async () => {
  const child = spawn(process.execPath, ['--import', path('./any-port.mjs'), `${folder}/hello.ts`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  try {
    const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/)

    const client = new Client({ name: 'readme', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    const greeting = await client.callTool({ name: 'greet', arguments: { name: 'Ada' } })
    expect(greeting.content).toEqual([{ type: 'text', text: 'Hello, Ada!' }])
    await client.close()

    const { messages } = await modernCall(url, 'greet', { name: 'Grace' })
    expect(messages.map(textOf)).toEqual(['Hello, Grace!'])
  } finally {
    child.kill('SIGTERM')
  }
  expect(await exited).toEqual([0, null])
})
