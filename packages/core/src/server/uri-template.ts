// RFC 6570 URI templates, levels 1 to 3: checked when registered, and matched back to their variables.

const EXPRESSION = /\{([^{}]*)\}/g
const OPERATORS = '+#./;?&'
const NAME = /^(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*$/

interface Expression {
  operator: string
  names: string[]
}

/** How the values of an expression stand in a URI. */
const STYLES: Readonly<Record<string, { first: string; separator: string; named: boolean; value: string }>> = {
  '': { first: '', separator: ',', named: false, value: '[^/?#,&]*' },
  '+': { first: '', separator: ',', named: false, value: '[^,]*' },
  '#': { first: '#', separator: ',', named: false, value: '[^,]*' },
  '.': { first: '.', separator: '.', named: false, value: '[^./?#]*' },
  '/': { first: '/', separator: '/', named: false, value: '[^/?#]*' },
  ';': { first: ';', separator: ';', named: true, value: '[^;/?#]*' },
  '?': { first: '?', separator: '&', named: true, value: '[^&#]*' },
  '&': { first: '&', separator: '&', named: true, value: '[^&#]*' },
}

export interface UriTemplate {
  readonly text: string
  readonly names: readonly string[]
  /** The variables of a URI that the template makes; undefined: it does not make this one. */
  match(uri: string): Record<string, string> | undefined
}

export function isTemplate(text: string): boolean {
  return text.includes('{')
}

function parse(text: string, source: string): Expression {
  const operator = OPERATORS.includes(source[0] ?? ' ') ? source[0]! : ''
  const names = source.slice(operator.length).split(',')
  for (const name of names) {
    if (!NAME.test(name)) {
      throw new TypeError(
        `resource ${JSON.stringify(text)}: {${source}} is no expression of RFC 6570, levels 1 to 3 (L-28)`,
      )
    }
  }
  return { operator, names }
}

const literally = (literal: string) => literal.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

export function uriTemplate(text: string): UriTemplate {
  if (text.replace(EXPRESSION, '').match(/[{}\s<>"\\^`|]/))
    throw new TypeError(`resource ${JSON.stringify(text)}: not a URI template (L-28)`)
  const names: string[] = []
  let pattern = ''
  let end = 0
  for (const match of text.matchAll(EXPRESSION)) {
    pattern += literally(text.slice(end, match.index))
    end = match.index + match[0].length
    const expression = parse(text, match[1]!)
    names.push(...expression.names)
    pattern += patternOf(expression)
  }
  pattern += literally(text.slice(end))
  if (new Set(names).size < names.length)
    throw new TypeError(`resource ${JSON.stringify(text)}: a variable is used twice`)
  const regex = new RegExp(`^${pattern}$`)

  return {
    text,
    names,
    match(uri) {
      const found = regex.exec(uri)
      if (!found) return undefined
      const variables: Record<string, string> = {}
      for (const [i, name] of names.entries()) {
        const raw = found[i + 1]
        if (raw === undefined) continue
        try {
          variables[name] = decodeURIComponent(raw)
        } catch {
          return undefined
        }
      }
      return variables
    },
  }
}

function patternOf({ operator, names }: Expression): string {
  const { first, separator, named, value } = STYLES[operator]!
  const parts = names.map((name, i) => {
    const before = literally(i === 0 ? first : separator)
    const one = named ? `${before}${literally(name)}(?:=(${value}))?` : `${before}(${value})`
    // Named ones may be left out, and so may what follows the first one.
    return named || i > 0 ? `(?:${one})?` : one
  })
  return operator !== '' && operator !== '+' && !named ? `(?:${parts.join('')})?` : parts.join('')
}

/** Variables must not climb out of where they stand, encoded or not (L-27). */
export function climbs(values: Iterable<string>): boolean {
  for (const value of values) if (value.split(/[/\\]/).includes('..') || value.includes('\0')) return true
  return false
}
