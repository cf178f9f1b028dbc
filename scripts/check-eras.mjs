// Deletes each era in turn, its folder and its row of the era table, and compiles what is left of the core.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { main, node, root, run } from './run.mjs'
import { setup } from './setup.mjs'

const ERAS = ['legacy', 'modern']
const core = `${root}/packages/core`

/** The era table without one era: its import and its row, which must be one line each. */
function withoutRow(table, era) {
  const lines = table.split('\n')
  const isRow = (line) => new RegExp(`^import .*from './${era}/index.ts'$|^\\s*${era},`).test(line)
  const left = lines.filter((line) => !isRow(line))
  if (left.length !== lines.length - 2) {
    throw new Error(
      `era.ts: to delete ${era} must take one import and one row, not ${lines.length - left.length} lines`,
    )
  }
  return left.join('\n')
}

async function compileWithout(era) {
  const folder = mkdtempSync(`${tmpdir()}/fairlead-era-`)
  try {
    cpSync(`${core}/src`, `${folder}/src`, { recursive: true, filter: (file) => !file.endsWith('.test.ts') })
    cpSync(`${core}/package.json`, `${folder}/package.json`)
    symlinkSync(`${core}/node_modules`, `${folder}/node_modules`)
    rmSync(`${folder}/src/${era}`, { recursive: true })
    writeFileSync(`${folder}/src/era.ts`, withoutRow(readFileSync(`${folder}/src/era.ts`, 'utf8'), era))
    const { compilerOptions } = JSON.parse(readFileSync(`${core}/tsconfig.json`, 'utf8'))
    const config = {
      extends: `${root}/tsconfig.base.json`,
      compilerOptions: { ...compilerOptions, composite: false, noEmit: true, tsBuildInfoFile: undefined },
      include: ['src'],
    }
    writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(config))
    await run(node(), [`${root}/node_modules/typescript/bin/tsc`, '-p', folder], { output: 'keep', cwd: folder })
    return readdirSync(`${folder}/src`, { recursive: true }).filter((file) => file.endsWith('.ts')).length
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function checkEras() {
  const files = []
  for (const era of ERAS) files.push(`without ${era}: ${await compileWithout(era)} files`)
  return `the core compiles ${files.join(', ')}`
}

await main(import.meta.url, async () => {
  await setup()
  console.log(await checkEras())
})
