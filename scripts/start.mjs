// `npm start`: installs, builds, and runs the notes server of examples/notes.
import { become, node, root } from './run.mjs'
import { setup } from './setup.mjs'

await setup()
become(node(), [`${root}/examples/notes/main.ts`, ...process.argv.slice(2)])
