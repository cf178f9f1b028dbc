// RFC 6570 URI templates, levels 1 to 3: checked when registered, and matched back to their variables.
import { percentDecoded } from './percent.ts'

/** The variables of a URI that the template makes; undefined: it does not make this one. */
export interface UriTemplate {
  readonly names: readonly string[]
  match(uri: string): Record<string, string> | undefined
}

/** Longer URIs match nothing. */
const URI_LENGTH_MAX = 8192

const EXPRESSION = /\{([^{}]*)\}/g
const NAME = /^(?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*$/
/** Outside of expressions: what RFC 6570, 2.1, has for literals. */
const NOT_LITERAL = /[\u0000-\u0020"'<>\\^`{|}]|%(?![0-9A-Fa-f]{2})/

interface Style {
  readonly first: string
  readonly separator: string
  /** The names are in the URI, and each may be missing. */
  readonly isNamed?: true
  /** What a value can not hold. Looser than what a template makes, since not every client encodes all of it. */
  readonly stop: string
}

const STYLES: Readonly<Record<string, Style>> = {
  '': { first: '', separator: ',', stop: '/?#&' },
  '+': { first: '', separator: ',', stop: '' },
  '#': { first: '#', separator: ',', stop: '' },
  '.': { first: '.', separator: '.', stop: '/?#&' },
  '/': { first: '/', separator: '/', stop: '/?#&' },
  ';': { first: ';', separator: ';', stop: '/?#;', isNamed: true },
  '?': { first: '?', separator: '&', stop: '#&', isNamed: true },
  '&': { first: '&', separator: '&', stop: '#&', isNamed: true },
}

/**
 * A template as a graph, made from its end to its start. A match first finds from where each node can reach the end,
 * then walks the longest way: time grows with the length of the URI, whatever the template.
 */
type Node =
  | { kind: 'text'; text: string; next: number }
  | { kind: 'value'; name: string; stop: string; mayBeEmpty: boolean; next: number }
  | { kind: 'empty'; name: string; next: number }
  | { kind: 'either'; next: number; or: number }

export function isTemplate(text: string): boolean {
  return /[{}]/.test(text)
}

/** Throws where it is no template of level 3 (L-28). */
export function uriTemplate(text: string): UriTemplate {
  const invalid = (why: string) => new TypeError(`resource ${JSON.stringify(text)}: ${why}`)
  const literals = text.split(/\{[^{}]*\}/)
  if (literals.some((literal) => NOT_LITERAL.test(literal))) throw invalid('not a URI template')
  const names: string[] = []
  const expressions = [...text.matchAll(EXPRESSION)].map(([, source = '']) => {
    const operator = source[0] !== undefined && Object.hasOwn(STYLES, source[0]) ? source[0] : ''
    const own = source.slice(operator.length).split(',')
    const wrong = own.find((name) => !NAME.test(name))
    if (wrong !== undefined) throw invalid(`{${source}} is no expression of RFC 6570, levels 1 to 3`)
    names.push(...own)
    return { style: STYLES[operator]!, names: own }
  })
  if (new Set(names).size < names.length) throw invalid('a variable is used twice')

  const nodes: Node[] = []
  const add = (node: Node) => nodes.push(node) - 1
  const literal = (text: string, next: number) => (text === '' ? next : add({ kind: 'text', text, next }))
  let start = literal(literals.at(-1)!, END)
  for (let i = expressions.length - 1; i >= 0; i--) {
    const { style, names } = expressions[i]!
    start = style.isNamed ? addNamed(style, names, start, add) : addValues(style, names, start, literal, add)
    start = literal(literals[i]!, start)
  }

  return {
    names,
    match(uri) {
      if (uri.length > URI_LENGTH_MAX || !uri.startsWith(literals[0]!)) return undefined
      return walk(nodes, start, uri)
    },
  }
}

/** The node after the last one: the URI must be over. */
const END = -1

/** One after the other; none is empty, since a URI with a hole names nothing. */
function addValues(
  { first, separator, stop }: Style,
  names: readonly string[],
  next: number,
  literal: (text: string, next: number) => number,
  add: (node: Node) => number,
): number {
  const own = names.length > 1 ? stop + separator : stop
  let start = next
  for (let i = names.length - 1; i >= 0; i--) {
    start = add({ kind: 'value', name: names[i]!, stop: own, mayBeEmpty: false, next: start })
    start = literal(i === 0 ? first : separator, start)
  }
  return start
}

/** In their order, each or not: there are two ways on from each, after the first one that is there and before it. */
function addNamed(
  { first, separator, stop }: Style,
  names: readonly string[],
  next: number,
  add: (node: Node) => number,
): number {
  let before = next
  let after = next
  for (const name of names.toReversed()) {
    const value = add({ kind: 'value', name, stop, mayBeEmpty: true, next: after })
    let here = add({ kind: 'text', text: `${name}=`, next: value })
    if (first === ';') {
      // An empty one has no equals sign there.
      const empty = add({ kind: 'empty', name, next: after })
      here = add({ kind: 'either', next: here, or: add({ kind: 'text', text: name, next: empty }) })
    }
    before = add({ kind: 'either', next: add({ kind: 'text', text: first, next: here }), or: before })
    after = add({ kind: 'either', next: add({ kind: 'text', text: separator, next: here }), or: after })
  }
  return before
}

function walk(nodes: readonly Node[], start: number, uri: string): Record<string, string> | undefined {
  const reach = reaches(nodes, uri)
  const can = (node: number, at: number) => (node === END ? at === uri.length : reach[node]![at] === 1)
  if (!can(start, 0)) return undefined
  const variables: [string, string][] = []
  let at = 0
  for (let i = start; i !== END; ) {
    const node = nodes[i]!
    if (node.kind === 'value') {
      const from = at
      // As long as can be.
      while (at < uri.length && !node.stop.includes(uri[at]!) && canGoOn(node, i, at + 1)) at++
      const value = percentDecoded(uri.slice(from, at))
      if (value === undefined) return undefined
      variables.push([node.name, value])
    } else if (node.kind === 'text') at += node.text.length
    else if (node.kind === 'empty') variables.push([node.name, ''])
    i = node.kind === 'either' && !can(node.next, at) ? node.or : node.next
  }
  return Object.fromEntries(variables)

  function canGoOn(node: Node, i: number, at: number): boolean {
    return can(node.next, at) || can(i, at)
  }
}

/** For each node, from where in the URI it can reach the end. Nodes lead to earlier ones only. */
function reaches(nodes: readonly Node[], uri: string): Uint8Array[] {
  const reach: Uint8Array[] = []
  const end = new Uint8Array(uri.length + 1)
  end[uri.length] = 1
  for (const node of nodes) {
    const own = new Uint8Array(uri.length + 1)
    const next = node.next === END ? end : reach[node.next]!
    for (let at = uri.length; at >= 0; at--) {
      let can: boolean
      if (node.kind === 'text') can = uri.startsWith(node.text, at) && next[at + node.text.length] === 1
      else if (node.kind === 'empty') can = next[at] === 1
      else if (node.kind === 'either') can = next[at] === 1 || (node.or === END ? end : reach[node.or]!)[at] === 1
      else {
        const takes = at < uri.length && !node.stop.includes(uri[at]!)
        can = (node.mayBeEmpty && next[at] === 1) || (takes && (next[at + 1] === 1 || own[at + 1] === 1))
      }
      if (can) own[at] = 1
    }
    reach.push(own)
  }
  return reach
}

/** Does a variable climb out of where it stands, encoded once more or not (L-27)? */
export function climbs(values: Iterable<string>): boolean {
  for (const value of values) {
    for (const form of [value, percentDecoded(value) ?? value]) {
      if (form.includes('\0') || form.split(/[/\\]/).includes('..')) return true
    }
  }
  return false
}
