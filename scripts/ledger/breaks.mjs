// For each requirement: the line that fulfils it, what it becomes when it is broken, and the file of the test that must fail.

/** @type {Record<string, { file: string; line: string; instead: string; test: string }>} */
export const BREAKS = {}
