// `npm run conformance -- [--era legacy|modern] [--fixture NAME,…]`: the official suite against our fixtures.
import { become, node, root } from './run.mjs'
import { setup } from './setup.mjs'

await setup('stderr')
become(node(), [`${root}/runtime-tests/conformance/main.ts`, ...process.argv.slice(2)])
