// The tests' own configuration, without the Redis that is started for each run: most tests have no use for it.
import whole from '../../vitest.config.ts'

const { globalSetup, ...test } = whole.test
const root = new URL('../..', import.meta.url).pathname

export default { ...whole, root, test: { ...test, globalSetup: globalSetup.filter((file) => !file.includes('redis')) } }
