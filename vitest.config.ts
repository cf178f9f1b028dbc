import { defineConfig } from 'vitest/config'

const src = (name: string, file = 'index') => new URL(`./packages/${name}/src/${file}.ts`, import.meta.url).pathname

export default defineConfig({
  resolve: {
    // Tests run against the sources; what is built and packed has tests of its own.
    alias: [
      { find: /^@fairlead\/core\/testing$/, replacement: src('core', 'testing/index') },
      { find: /^@fairlead\/core\/plain$/, replacement: src('core', 'plain') },
      { find: /^@fairlead\/(\w+)$/, replacement: new URL('./packages/$1/src/index.ts', import.meta.url).pathname },
    ],
  },
  test: {
    include: [
      'packages/*/src/**/*.test.ts',
      'packages/*/test-support/**/*.test.ts',
      'fixtures/**/*.test.ts',
      'runtime-tests/**/*.test.ts',
      'docs/**/*.test.ts',
      'examples/*/**/*.test.ts',
      'bench/**/*.test.ts',
    ],
    exclude: ['**/node_modules/**', '**/dist/**'],
    setupFiles: ['./vitest.setup.ts'],
    globalSetup: ['./packages/core/test-support/wire-report.ts', './runtime-tests/redis/global-setup.ts'],
    // A rejection that nobody handles, or an exception in a timer, fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
    pool: 'forks',
    testTimeout: 20_000,
  },
})
