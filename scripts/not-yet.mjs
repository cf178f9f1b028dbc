// A command of the house that is not there yet says so and fails: nothing may take it for a pass.

/** @param {number} issue where it is built */
export function notYet(what, issue) {
  process.stderr.write(`${what}: not yet: issue ${issue}\n`)
  process.exit(2)
}
