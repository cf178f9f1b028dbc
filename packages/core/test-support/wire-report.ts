// Sums up what the workers have checked. With FAIRLEAD_WHOLE=1 (the whole suite runs) a revision without any fails the run.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { REVISIONS, type Revision } from './wire.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where each test file leaves its counts. */
    wireCounts: string
  }
}

export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-wire-'))
  project.provide('wireCounts', folder)
  return () => {
    const counts = readdirSync(folder)
      .flatMap((file) => readFileSync(join(folder, file), 'utf8').trim().split('\n'))
      .map((line) => JSON.parse(line) as Record<Revision, number>)
    rmSync(folder, { recursive: true, force: true })
    const sums = REVISIONS.map((revision) => ({
      revision,
      sum: counts.reduce((total, count) => total + count[revision], 0),
    }))
    console.log(`wire: ${sums.map(({ revision, sum }) => `${revision} ${sum}`).join(', ')} messages checked`)
    const none = sums.filter(({ sum }) => sum === 0).map(({ revision }) => revision)
    if (process.env.FAIRLEAD_WHOLE === '1' && none.length > 0) {
      throw new Error(`wire: no message was checked of ${none.join(', ')}`)
    }
  }
}
