// What `npm run build` has made of the core: web standards and two dependencies, nothing else.
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor } from 'rolldown/utils'
import { expect, test } from 'vitest'

/** What runs everywhere but is not the web's: on Node alone these names are there. */
const NODE_ONLY = new Set(['process', 'Buffer', 'require', 'module', 'global', 'setImmediate', '__dirname'])

const dist = fileURLToPath(new URL('../packages/core/dist', import.meta.url))
const modules = globSync('**/*.js', { cwd: dist }).map((name) => lookAt(name, readFileSync(`${dist}/${name}`, 'utf8')))

interface Module {
  name: string
  /** Specifiers of `import` and `export … from`. */
  imports: string[]
  /** Specifiers of `import()`. */
  dynamic: string[]
  /** Names of Node's globals that are used as variables. */
  globals: string[]
}

function lookAt(name: string, code: string): Module {
  const found: Module = { name, imports: [], dynamic: [], globals: [] }
  const names = new Set<unknown>()
  const key = (node: { computed: boolean; key: unknown }) => {
    if (!node.computed) names.add(node.key)
  }
  const request = ({ source }: { source: { value: string } | null }) => {
    if (source) found.imports.push(source.value)
  }
  new Visitor({
    ImportDeclaration: request,
    ExportNamedDeclaration: request,
    ExportAllDeclaration: request,
    ImportExpression({ source }) {
      found.dynamic.push(source.type === 'Literal' ? String(source.value) : 'not a literal')
    },
    MemberExpression(node) {
      if (!node.computed) names.add(node.property)
    },
    Property: key,
    MethodDefinition: key,
    PropertyDefinition: key,
    Identifier(node) {
      if (NODE_ONLY.has(node.name) && !names.has(node)) found.globals.push(node.name)
    },
  }).visit(parseSync(name, code).program)
  return found
}

const isBare = (specifier: string) => !/^\.\.?\//.test(specifier)

test('the built core imports nanoid and valibot alone', () => {
  expect(modules.length).toBeGreaterThan(20)
  const imports = new Set(modules.flatMap((module) => module.imports).filter(isBare))
  expect(imports).toEqual(new Set(['nanoid', 'valibot']))
})

test('the built core loads nothing else later but the JSON Schema of valibot', () => {
  const dynamic = new Set(modules.flatMap((module) => module.dynamic).filter(isBare))
  expect([...dynamic].filter((specifier) => specifier !== '@valibot/to-json-schema')).toEqual([])
})

test("the built core uses none of Node's globals", () => {
  expect(modules.filter(({ globals }) => globals.length > 0)).toEqual([])
})

test('what looks for them finds them', () => {
  const code = "import 'node:fs'\nexport const x = { process: a.process, y: process.env }\nawait import('./later.js')"
  expect(lookAt('x.js', code)).toEqual({
    name: 'x.js',
    imports: ['node:fs'],
    dynamic: ['./later.js'],
    globals: ['process'],
  })
})
