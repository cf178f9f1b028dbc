// Builds every package: one `tsc -b` over the project references, about two seconds.
import { main, node, root, run } from './run.mjs'

/** @param {'show' | 'stderr' | 'keep'} output */
export async function build(output = 'show') {
  await run(node(), [`${root}/node_modules/typescript/bin/tsc`, '-b'], { output })
}

await main(import.meta.url, () => build())
