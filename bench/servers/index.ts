// Who takes part, the baseline first. A server is one file beside this one.
import { join } from 'node:path'
import type { Entry } from '../fleet.ts'

export const BASELINE = 'bare'

const NAMES = [BASELINE, 'fetch', 'fairlead', 'mcp-lite', 'tmcp', 'official-v1', 'sdk-v1', 'official-v2', 'sdk-v2']

export const servers: readonly Entry[] = NAMES.map((name) => ({
  name,
  file: join(import.meta.dirname, `${name}.ts`),
}))
