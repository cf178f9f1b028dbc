// The options of servers, tools, resources and prompts: what each must be.
import * as v from 'valibot'

export function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** RFC 3986, as far as a URL parser goes, and without what it would mend. */
export function isUri(text: unknown): text is string {
  return typeof text === 'string' && !/[\s<>"{}|\\^`]/.test(text) && URL.canParse(text)
}

/** RFC 2045; parameters may follow. */
export function isMimeType(text: unknown): text is string {
  return typeof text === 'string' && /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;.*)?$/.test(text)
}

const LABEL = /^[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/
const NAME = /^(?:[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)?$/
const RESERVED = new Set<string | undefined>(['mcp', 'modelcontextprotocol'])

function split(key: string): { labels: string[] | undefined; name: string } {
  const slash = key.indexOf('/')
  return slash === -1
    ? { labels: undefined, name: key }
    : { labels: key.slice(0, slash).split('.'), name: key.slice(slash + 1) }
}

function isMetaKey(key: string): boolean {
  const { labels, name } = split(key)
  return NAME.test(name) && (labels ? labels.every((label) => LABEL.test(label)) : name !== '')
}

/** 2025-06-18 keeps the last label but one for MCP, later revisions the second one: neither is taken. */
function isOwnKey(key: string): boolean {
  const { labels = [] } = split(key)
  return !RESERVED.has(labels[1]) && !(labels.length > 1 && RESERVED.has(labels.at(-2)))
}

const text = v.string('must be a text')
const fn = v.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'must be a function')
const count = (least: number) => {
  const message = `must be a whole number from ${least}`
  return v.optional(v.pipe(v.number(message), v.safeInteger(message), v.minValue(least, message)))
}
const boolean = v.optional(v.boolean('must be true or false'))
const oneOf = <T extends string>(...words: readonly T[]) => v.picklist(words, `must be of ${words.join(', ')}`)
const texts = v.array(v.pipe(text, v.nonEmpty('must not be empty')), 'must be a list of texts')
const mimeType = v.optional(v.custom<string>(isMimeType, 'must be a MIME type'))

const icons = v.optional(
  v.array(
    v.strictObject({
      src: v.pipe(text, v.regex(/^(?:https:\/\/|data:image\/)/i, 'must be an https URL or a data URI of an image')),
      mimeType,
      sizes: v.optional(texts),
      theme: v.optional(oneOf('light', 'dark')),
    }),
    'must be a list of icons',
  ),
)

const meta = v.optional(
  v.record(
    v.pipe(
      text,
      v.check(isMetaKey, 'is no legal key of _meta'),
      v.check(isOwnKey, 'has a prefix that is kept for MCP'),
    ),
    v.unknown(),
    'must be an object',
  ),
)

const isTime = (value: string) => /^\d{4}-\d\d-\d\d(?:T|$)/.test(value) && Number.isFinite(Date.parse(value))
const priority = 'must be from 0 to 1'
const annotations = v.strictObject({
  audience: v.optional(v.array(oneOf('user', 'assistant'))),
  priority: v.optional(v.pipe(v.number(priority), v.minValue(0, priority), v.maxValue(1, priority))),
  lastModified: v.optional(v.pipe(text, v.check(isTime, 'must be an ISO 8601 time'))),
})

/** Annotations and icons that are legal on content (L-34). */
export function isAnnotations(value: unknown): boolean {
  return v.is(annotations, value)
}

export function isIcons(value: unknown): boolean {
  return v.is(icons, value)
}

const cache = v.optional(
  v.strictObject({ ttlMs: v.nonOptional(count(0)), scope: oneOf('public', 'private') }, 'must be { ttlMs, scope }'),
)

const completes = v.optional(v.record(v.string(), v.optional(fn), 'must be an object of functions'))
const described = { title: v.optional(text), description: v.optional(text), icons, _meta: meta }

const task = v.union(
  [
    oneOf('optional', 'required'),
    v.strictObject({
      support: oneOf('optional', 'required'),
      start: v.optional(oneOf('at-once', 'manual')),
      restart: v.optional(oneOf('never', 'safe')),
      ttlMs: count(1),
      pollIntervalMs: count(1),
    }),
  ],
  "must be 'optional', 'required' or { support, start, restart, ttlMs, pollIntervalMs }",
)

// Schemas are looked at where they are used.
export const TOOL: Options = v.strictObject({
  ...described,
  inputSchema: v.optional(v.any()),
  outputSchema: v.optional(v.any()),
  annotations: v.optional(
    v.strictObject({
      title: v.optional(text),
      readOnlyHint: boolean,
      destructiveHint: boolean,
      idempotentHint: boolean,
      openWorldHint: boolean,
    }),
  ),
  scopes: v.optional(texts),
  requires: v.optional(v.array(oneOf('elicitation', 'sampling', 'roots'), 'must be a list of capabilities')),
  task: v.optional(task),
})

const resource = { ...described, name: v.optional(text), mimeType, annotations: v.optional(annotations), cache }
export const RESOURCE: Options = v.strictObject({ ...resource, size: count(0) })
export const TEMPLATE: Options = v.strictObject({ ...resource, list: v.optional(fn), complete: completes })
export const PROMPT: Options = v.strictObject({ ...described, argsSchema: v.optional(v.any()), complete: completes })

/** Extension ids are keys of `_meta` that must have a prefix; the spec's own are legal (F-17). */
const isExtensionId = (key: string) => isMetaKey(key) && key.includes('/')
export const SERVER: Options = v.strictObject({
  name: v.pipe(text, v.nonEmpty('must not be empty')),
  version: text,
  title: v.optional(text),
  description: v.optional(text),
  websiteUrl: v.optional(v.custom<string>(isUri, 'must be a URL')),
  icons,
  instructions: v.optional(text),
  pageSize: count(1),
  cache,
  logging: boolean,
  declare: v.optional(v.array(oneOf('tools', 'prompts', 'resources'), 'must be a list of kinds')),
  extensions: v.optional(
    v.record(
      v.pipe(text, v.check(isExtensionId, 'must be an id with a prefix, as com.example/name')),
      v.custom<object>(isObject, 'must be an object'),
      'must be an object',
    ),
  ),
  validator: v.optional(fn),
  onWarning: v.optional(fn),
})

type Options = v.GenericSchema

/** Throws a TypeError that names the option. */
export function checkOptions(where: string, options: Options, given: unknown): void {
  const checked = v.safeParse(options, given, { abortEarly: true })
  if (checked.success) return
  const [issue] = checked.issues
  const path = v.getDotPath(issue)
  throw new TypeError(
    path === null ? `${where}: options must be an object` : `${where}: option ${path}: ${issue.message}`,
  )
}

/** What 2025-11-25 and later ask for; other names are legal, and some client may not take them (L-07). */
export function isCommonToolName(name: string): boolean {
  return /^[A-Za-z0-9_.-]{1,128}$/.test(name)
}
