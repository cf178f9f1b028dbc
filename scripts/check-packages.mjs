// Packs every package as it would be published, and has publint and attw look at the tarball.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { main, root, run } from './run.mjs'
import { setup } from './setup.mjs'

const out = `${root}/out/packed`

async function check(name) {
  const packing = ['pack', '--json', '--ignore-scripts', '--pack-destination', out]
  const printed = await run('npm', packing, { output: 'keep', cwd: `${root}/packages/${name}` })
  const [packed] = Object.values(JSON.parse(printed))
  const tarball = `${out}/${packed.filename.replace('@', '').replace('/', '-')}`
  await run(`${root}/node_modules/.bin/publint`, ['--strict', tarball], { output: 'keep' })
  await run(`${root}/node_modules/.bin/attw`, [tarball, '--profile', 'esm-only'], { output: 'keep' })
  console.log(`${packed.name}: ${packed.entryCount} files, ${(packed.size / 1000).toFixed(1)} kB packed`)
}

export async function checkPackages() {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const names = readdirSync(`${root}/packages`)
  const outcomes = await Promise.allSettled(names.map(check))
  for (const { reason } of outcomes) if (reason) throw reason
  return `${names.length} packages packed and checked`
}

await main(import.meta.url, async () => {
  await setup()
  console.log(await checkPackages())
})
