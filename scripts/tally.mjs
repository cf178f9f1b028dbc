// Counts what passed and failed over the steps of a run, and ends it with one plain line.
import { node, root, run } from './run.mjs'

/** @returns a tally; a step counts once, or as the figures that it adds */
export function createTally() {
  const failures = []
  const figures = []
  let passed = 0

  return {
    failures,
    figures,
    /** Runs one step. `work` may return a figure, one line, to be shown beside its name. */
    async step(name, work) {
      const start = performance.now()
      const before = { passed, failed: failures.length }
      process.stdout.write(`\n== ${name}\n`)
      let line = ''
      try {
        line = (await work()) ?? ''
        if (passed === before.passed && failures.length === before.failed) passed++
      } catch (error) {
        process.stderr.write(`${error.message}\n`)
        failures.push(name)
      }
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      if (line) process.stdout.write(`${line}\n`)
      const failed = failures.length > before.failed
      process.stdout.write(`== ${name}: ${failed ? 'FAILED' : 'ok'}, ${seconds} s\n`)
      figures.push({ name, seconds, failed, line })
    },
    /** Adds the tests of a runner. */
    add(count, failed) {
      passed += count
      failures.push(...failed)
    },
    /** Names what failed; the last line printed is `N passed, N failed`. */
    close() {
      if (failures.length > 0) process.stdout.write(`\nFailed:\n${failures.map((name) => `  ${name}\n`).join('')}`)
      process.stdout.write(`\n${passed} passed, ${failures.length} failed\n`)
      process.exitCode = failures.length > 0 || passed === 0 ? 1 : 0
    },
  }
}

/** Runs a script of the house: shows what it prints, and returns its last line, its figure. */
export async function script(name, ...args) {
  const output = await run(node(), [`${root}/scripts/${name}.mjs`, ...args], { output: 'keep' })
  const lines = output.trimEnd().split('\n')
  const figure = lines.pop()
  for (const line of lines) process.stdout.write(`${line}\n`)
  return figure
}
