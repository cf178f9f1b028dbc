// Starts a fixture server: `fixture.mjs <node|bun|deno> <field|conformance> [options]`. Its stdout is the fixture's own.
import { become, node, root } from './run.mjs'
import { setup } from './setup.mjs'

const [runtime, name, ...options] = process.argv.slice(2)

const usage = 'usage: npm run --silent fixture -- field|conformance [options]   (fixture:bun, fixture:deno)\n'

/** The runtimes themselves, not the shims in .bin: those leave an orphan behind when they are killed. */
const RUNTIMES = {
  node: [node(), '--expose-gc'],
  bun: [`${root}/node_modules/bun/bin/bun.exe`, '--expose-gc'],
  deno: [`${root}/node_modules/deno/deno`, 'run', '-A', '--no-remote', '--cached-only', '--v8-flags=--expose-gc'],
}

const FIXTURES = ['field', 'conformance']

if (!FIXTURES.includes(name)) {
  process.stderr.write(usage)
  process.exit(2)
}

await setup('stderr')
const [command, ...flags] = RUNTIMES[runtime]
become(command, [...flags, `${root}/fixtures/${name}.ts`, ...options])
