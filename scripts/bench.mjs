// `npm run bench`: installs, builds and measures; `--help` tells the options.
import { become, node, root } from './run.mjs'
import { setup } from './setup.mjs'

const args = process.argv.slice(2)
await setup('stderr').catch((error) => {
  // Without ours, nothing that was built is needed.
  if (!args.join(' ').includes('--without fairlead')) throw error
  process.stderr.write(`${error.message}; going on without fairlead\n`)
})
become(node(), [`${root}/bench/bench.ts`, ...args])
