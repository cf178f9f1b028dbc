// What hello world weighs: bundled and minified by rolldown, gzipped, with a table per part.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { main, root } from './run.mjs'
import { setup } from './setup.mjs'

/** What hello world is to weigh, gzipped (issue 12); until it does, it may only fall. */
const GOAL_KB = 25
const LIMIT_KB = 48

const HELLO = `import { createTransport, McpServer } from '@fairlead/core'
import * as v from 'valibot'

const server = new McpServer({ name: 'hello', version: '1.0.0' })
const inputSchema = v.object({ name: v.string(), times: v.number(), loud: v.boolean(), title: v.optional(v.string()) })
server.tool('greet', { inputSchema }, ({ name }) => \`Hello, \${name}!\`)
export default createTransport(server)
`

/** The first that matches names a module's part. */
const PARTS = [
  ['valibot', /node_modules\/valibot\//],
  ['nanoid', /node_modules\/nanoid\//],
  ['JSON Schema of valibot, loaded at the first listing', /node_modules\/@valibot\/to-json-schema\//],
  ['legacy era', /packages\/core\/dist\/legacy\//],
  ['modern era', /packages\/core\/dist\/modern\//],
  ['McpServer', /packages\/core\/dist\/server\//],
  ['memory store', /packages\/core\/dist\/memory/],
  ['transport', /packages\/core\/dist\//],
]

async function bundle(folder) {
  // Only there once it is installed.
  const { rolldown } = await import('rolldown')
  const build = await rolldown({
    input: `${folder}/hello.js`,
    platform: 'neutral',
    resolve: { conditionNames: ['browser', 'import'] },
    logLevel: 'silent',
  })
  const { output } = await build.generate({ format: 'esm', minify: true, comments: false })
  await build.close()
  return output.filter(({ type }) => type === 'chunk')
}

const gzipped = (text) => gzipSync(text, { level: 9 }).length
const kB = (bytes) => (bytes / 1000).toFixed(1).padStart(6)

/** Minified code of a chunk, shared out over its parts by what each module has before it is minified. */
function share(chunks) {
  const parts = new Map(PARTS.map(([name]) => [name, 0]))
  for (const chunk of chunks) {
    const modules = Object.entries(chunk.modules)
    const all = modules.reduce((sum, [, { renderedLength }]) => sum + renderedLength, 0)
    const bytes = gzipped(chunk.code)
    for (const [id, { renderedLength }] of modules) {
      const part = PARTS.find(([, pattern]) => pattern.test(id))?.[0]
      if (part) parts.set(part, parts.get(part) + (bytes * renderedLength) / all)
    }
  }
  return parts
}

async function sizes() {
  // Inside the workspace, where the packages resolve as they do for an app.
  const folder = `${root}/fixtures/out/sizes`
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/hello.js`, HELLO)
  const chunks = await bundle(folder)
  const lazy = chunks.filter(({ isEntry, isDynamicEntry }) => !isEntry && isDynamicEntry)
  const total = chunks.reduce((sum, { code }) => sum + gzipped(code), 0)
  const later = lazy.reduce((sum, { code }) => sum + gzipped(code), 0)
  console.log("hello world, kB gzip (a part's share of its chunk, by length)")
  for (const [name, bytes] of share(chunks)) console.log(`${kB(bytes)}  ${name}`)
  const kilobytes = (total - later) / 1000
  const minified = chunks.reduce((sum, { code }) => sum + code.length, 0)
  console.log(
    `hello world: ${kilobytes.toFixed(1)} kB gzip (limit ${LIMIT_KB}, goal ${GOAL_KB}), ` +
      `${(later / 1000).toFixed(1)} more at the first listing; ${(minified / 1000).toFixed(1)} kB minified in all`,
  )
  if (kilobytes > LIMIT_KB) throw new Error(`hello world is over ${LIMIT_KB} kB gzip`)
}

await main(import.meta.url, async () => {
  await setup()
  await sizes()
})
