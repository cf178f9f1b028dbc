// What a handler's types are inferred to be, and what must not compile. The cases are compiled, never run.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type } from 'arktype'
import * as v from 'valibot'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { Result } from '../server.ts'
import { McpServer, ToolError } from './index.ts'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_: Same<A, B>) => {}

export function fromTheContract(): void {
  const s = new McpServer<{ user: string }>({ name: 'x', version: '1' })
  s.tool(
    'a',
    { inputSchema: v.object({ n: v.optional(v.number(), 1) }), outputSchema: v.object({ m: v.number() }) },
    (args, ctx) => {
      same<typeof args.n, number>(true)
      same<typeof ctx.context.user, string>(true)
      return { m: args.n }
    },
  )
  s.tool('full', { outputSchema: v.object({ m: v.number() }) }, () => ({ content: [], structuredContent: { m: 1 } }))
  // @ts-expect-error wrong structured value
  s.tool('b', { outputSchema: v.object({ m: v.number() }) }, () => ({ m: 'no' }))
  // @ts-expect-error unknown argument
  s.tool('c', { inputSchema: v.object({ n: v.number() }) }, ({ q }) => String(q))
  // @ts-expect-error not a task word of the spec
  s.tool('d', { task: true }, () => 'x')
  s.tool('none', {}, () => {
    throw new ToolError('no such city')
  })
  s.resource('note://{folder}/{id}', { complete: { id: () => ['1'] } }, ({ folder, id }, ctx) => folder + id + ctx.uri)
  // @ts-expect-error no such variable
  s.resource('note://{id}', {}, ({ nope }) => nope)
  s.resource('note://all', {}, () => new Uint8Array())
  s.prompt(
    'p',
    { argsSchema: v.object({ city: v.string() }), complete: { city: (value) => [value] } },
    ({ city }) => city,
  )
  s.tool('link', {}, async (_args, ctx) => {
    const r = await ctx.elicit('pay', { message: 'Pay', url: 'https://pay.example' })
    same<typeof r.action, 'accept' | 'decline' | 'cancel'>(true)
    return r.action
  })
}

export function toolsWithoutAnOutputSchema(s: McpServer): void {
  s.tool('text', {}, () => 'x')
  s.tool('nothing', {}, () => {})
  s.tool('block', {}, () => ({ type: 'text', text: 'x' }))
  s.tool('blocks', {}, async () => [{ type: 'text', text: 'x', annotations: { priority: 1 } }])
  s.tool('whole', { inputSchema: v.object({ a: v.string() }) }, async ({ a }) => ({
    content: [{ type: 'text', text: a }],
    isError: true,
  }))
  s.tool('bytes', {}, () => ({ type: 'image', data: new Uint8Array(), mimeType: 'image/png' }))
  s.tool('link', {}, () => ({ type: 'resource_link', uri: 'a://b', name: 'b', size: 1, description: 'b' }))
  s.tool('either', {}, (_args, ctx) => {
    if (ctx.signal.aborted) return 'x'
    return { content: [{ type: 'text', text: 'x' }], structuredContent: { a: 1 } }
  })
  // @ts-expect-error not a result
  s.tool('number', {}, () => 5)
  // @ts-expect-error no such content
  s.tool('kind', {}, () => ({ type: 'video', data: '' }))
  // @ts-expect-error a block that lacks its text
  s.tool('textless', {}, () => ({ content: [{ type: 'text' }] }))
  // @ts-expect-error no such option
  s.tool('option', { inputschema: v.object({}) }, () => 'x')
  // @ts-expect-error no such capability
  s.tool('requires', { requires: ['tools'] }, () => 'x')
}

export function toolsWithAnOutputSchema(s: McpServer): void {
  const outputSchema = v.object({ a: v.picklist(['x', 'y']) })
  s.tool('value', { outputSchema }, () => ({ a: 'x' }))
  s.tool('later', { outputSchema }, async () => ({ a: 'x' }))
  s.tool('with-ctx', { outputSchema }, async (_args, _ctx) => ({ a: 'x' }))
  s.tool('whole', { outputSchema }, () => ({ content: [{ type: 'text', text: 'x' }], structuredContent: { a: 'x' } }))
  s.tool('error', { outputSchema }, () => ({ content: [{ type: 'text', text: 'x' }], isError: true }))
  s.tool('throws', { outputSchema }, () => {
    throw new ToolError('no')
  })
  s.tool('list', { outputSchema: v.array(v.number()) }, () => [1, 2])
  s.tool('null', { outputSchema: v.null() }, () => null)
  // @ts-expect-error text is no value of the schema
  s.tool('text', { outputSchema }, () => 'x')
  // @ts-expect-error wrong structuredContent
  s.tool('wrong', { outputSchema }, () => ({ content: [], structuredContent: { a: 'z' } }))
  // @ts-expect-error nothing is no value of the schema
  s.tool('nothing', { outputSchema }, () => {})
}

export function schemasOfEveryKind(s: McpServer): void {
  s.tool('zod', { inputSchema: z.object({ n: z.number().default(1) }) }, ({ n }) => {
    same<typeof n, number>(true)
    return String(n)
  })
  s.tool('arktype', { inputSchema: type({ n: 'number = 1' }) }, ({ n }) => {
    same<typeof n, number>(true)
    return String(n)
  })
  s.tool('plain', { inputSchema: { type: 'object', properties: { n: { type: 'number' } } } }, (args) => {
    same<typeof args, Record<string, unknown>>(true)
    return String(args.n)
  })
  s.tool('plain-output', { outputSchema: { type: 'object' } }, () => ({ a: 1 }))
}

export function resources(s: McpServer): void {
  s.resource('a://{x,y}/{+path}{?q,page}', { complete: { q: () => [] } }, ({ x, y, path, q, page }) => {
    same<typeof x, string>(true)
    same<typeof y, string>(true)
    same<typeof path, string>(true)
    same<typeof q, string | undefined>(true)
    same<typeof page, string | undefined>(true)
    return x
  })
  s.resource('a://b', {}, async (_variables, ctx) => [{ uri: `${ctx.uri}/c`, text: 'x' }])
  s.resource('a://{id}', {}, ({ id }) => (id === '1' ? 'one' : undefined))
  // @ts-expect-error no such variable to complete
  s.resource('a://{id}', { complete: { no: () => [] } }, () => 'x')
  // @ts-expect-error not a thing that can be read
  s.resource('a://b', {}, () => 5)
}

export function prompts(s: McpServer): void {
  s.prompt('none', {}, () => [{ role: 'assistant', content: { type: 'text', text: 'x' } }])
  s.prompt('zod', { argsSchema: z.object({ a: z.string(), b: z.string().optional() }) }, ({ a, b }) => {
    same<typeof a, string>(true)
    same<typeof b, string | undefined>(true)
    return a
  })
  // @ts-expect-error no such argument to complete
  s.prompt('complete', { argsSchema: v.object({ a: v.string() }), complete: { b: () => [] } }, () => 'x')
  // @ts-expect-error no such role
  s.prompt('role', {}, () => [{ role: 'system', content: { type: 'text', text: 'x' } }])
}

export function middleware(s: McpServer<{ user: string }>): void {
  s.use(async ({ method, ctx }, next) => {
    same<typeof ctx.context.user, string>(true)
    const result = await next()
    same<typeof result, Result>(true)
    return { ...result, method }
  })
  // @ts-expect-error a middleware must answer
  s.use(async (_call, next) => void (await next()))
}

test('every case above compiles, and those that must not do not', async () => {
  const root = fileURLToPath(new URL('../../../../', import.meta.url))
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-types-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const project = {
    extends: join(root, 'packages/core/test-support/tsconfig.json'),
    compilerOptions: { noEmit: true },
    include: [],
    files: [fileURLToPath(import.meta.url)],
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(project))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', folder, '--pretty', 'false']).catch(
    (failed: { stdout: string }) => failed,
  )
  // Other files that are drawn in have tests of their own.
  expect(stdout.split('\n').filter((line) => line.includes('inference.test.ts'))).toEqual([])
  expect(stdout).not.toContain('TS18003')
})
