import { describe, expect, test } from 'vitest'
import { climbs, uriTemplate } from './uri-template.ts'

/** The variables of RFC 6570, 1.2 and 2.4.2. */
const VALUES: Record<string, string> = {
  var: 'value',
  hello: 'Hello World!',
  path: '/foo/bar',
  x: '1024',
  y: '768',
  half: '50%',
  base: 'http://example.com/home/',
  who: 'fred',
  dom: 'example.com',
  v: '6',
  v_2: '2',
}

describe('RFC 6570, levels 1 to 3: what a template makes is matched back to what it was made of', () => {
  test.each<[string, string, string[]]>([
    // Level 1
    ['{var}', 'value', ['var']],
    ['{hello}', 'Hello%20World%21', ['hello']],
    // Level 2
    ['{+var}', 'value', ['var']],
    ['{+hello}', 'Hello%20World!', ['hello']],
    ['{+path}/here', '/foo/bar/here', ['path']],
    ['here?ref={+path}', 'here?ref=/foo/bar', ['path']],
    ['X{#var}', 'X#value', ['var']],
    ['X{#hello}', 'X#Hello%20World!', ['hello']],
    // Level 3
    ['map?{x,y}', 'map?1024,768', ['x', 'y']],
    ['{x,hello,y}', '1024,Hello%20World%21,768', ['x', 'hello', 'y']],
    ['{+x,hello,y}', '1024,Hello%20World!,768', ['x', 'hello', 'y']],
    ['{+path,x}/here', '/foo/bar,1024/here', ['path', 'x']],
    ['{#x,hello,y}', '#1024,Hello%20World!,768', ['x', 'hello', 'y']],
    ['{#path,x}/here', '#/foo/bar,1024/here', ['path', 'x']],
    ['X{.var}', 'X.value', ['var']],
    ['X{.x,y}', 'X.1024.768', ['x', 'y']],
    ['{/var}', '/value', ['var']],
    ['{/var,x}/here', '/value/1024/here', ['var', 'x']],
    ['{;x,y}', ';x=1024;y=768', ['x', 'y']],
    ['{?x,y}', '?x=1024&y=768', ['x', 'y']],
    ['?fixed=yes{&x}', '?fixed=yes&x=1024', ['x']],
    ['{&x,y}', '&x=1024&y=768', ['x', 'y']],
    // Sections 3.2.2 to 3.2.9
    ['{half}', '50%25', ['half']],
    ['{base}index', 'http%3A%2F%2Fexample.com%2Fhome%2Findex', ['base']],
    ['{+base}index', 'http://example.com/home/index', ['base']],
    ['{+half}', '50%25', ['half']],
    ['up{+path}{var}/here', 'up/foo/barvalue/here', ['path', 'var']],
    ['{#half}', '#50%25', ['half']],
    ['{.who,who_2}', '.fred.fred', ['who', 'who_2']],
    ['{.half,who}', '.50%25.fred', ['half', 'who']],
    ['{/who,dom}', '/fred/example.com', ['who', 'dom']],
    ['{/half,who}', '/50%25/fred', ['half', 'who']],
    ['{;half}', ';half=50%25', ['half']],
    ['{;v,who}', ';v=6;who=fred', ['v', 'who']],
    ['{?who}', '?who=fred', ['who']],
    ['{?half}', '?half=50%25', ['half']],
    ['{&who}', '&who=fred', ['who']],
  ])('L-28 %s makes %s', (template, uri, names) => {
    const expected = Object.fromEntries(names.map((name) => [name, VALUES[name === 'who_2' ? 'who' : name]]))
    // Two variables without anything between: the first takes all that it can.
    if (template === 'up{+path}{var}/here') Object.assign(expected, { path: '/foo/barvalu', var: 'e' })
    const made = uriTemplate(template)
    expect(made.names).toEqual(names)
    expect(made.match(uri)).toEqual(expected)
  })

  test.each<[string, string, Record<string, string>]>([
    ['{;x,y,empty}', ';x=1024;y=768;empty', { x: '1024', y: '768', empty: '' }],
    ['{;v,empty,who}', ';v=6;empty;who=fred', { v: '6', empty: '', who: 'fred' }],
    ['{;v,bar,who}', ';v=6;who=fred', { v: '6', who: 'fred' }],
    ['{;empty}', ';empty=', { empty: '' }],
    ['{?x,y,empty}', '?x=1024&y=768&empty=', { x: '1024', y: '768', empty: '' }],
    ['{?x,y,undef}', '?x=1024&y=768', { x: '1024', y: '768' }],
    ['{?x,y,undef}', '?y=768', { y: '768' }],
    ['{?x,y}', '', {}],
    ['a{?x}{&y}', 'a&y=1', { y: '1' }],
    ['{&x,y,empty}', '&x=1024&y=768&empty=', { x: '1024', y: '768', empty: '' }],
    ['?a=b{&x,y}', '?a=b', {}],
  ])('L-28 %s may leave out what is named, or leave it empty: %j', (template, uri, variables) => {
    expect(uriTemplate(template).match(uri)).toEqual(variables)
  })

  test.each([
    ['O{empty}X', 'OX'],
    ['{x,empty}', '1024,'],
    ['{+x,empty}', '1024,'],
    ['{#x,empty}', '#1024,'],
    ['X{.empty}', 'X.'],
    ['{/var,empty}', '/value/'],
    ['note://{id}', 'note://'],
  ])('%s does not match %s: a URI with a hole names nothing', (template, uri) => {
    expect(uriTemplate(template).match(uri)).toBeUndefined()
  })

  test.each([
    ['note://{id}', 'note://a/b'],
    ['note://{id}', 'note://a?b'],
    ['note://{id}', 'note://a#b'],
    ['note://{id}', 'Note://a'],
    ['note://{id}', 'other://note://a'],
    ['note://{id}', 'note://%zz'],
    ['note://{id}', 'note://%ff'],
    ['a.b/{id}', 'axb/1'],
    ['{x}/{y}', '1'],
    ['{x,y}', '1'],
    ['{?x,y}', '?y=1&x=2'],
    ['{?x}', '?x'],
    ['{?x}', '?z=1'],
    ['{?x}', '?x=1&x=2'],
    ['X{.x}', 'X'],
    ['{#x}', '1'],
  ])('%s does not match %s', (template, uri) => {
    expect(uriTemplate(template).match(uri)).toBeUndefined()
  })

  test.each<[string, string, Record<string, string>]>([
    ['log://{year}-{month}-{day}', 'log://2026-07-28', { year: '2026', month: '07', day: '28' }],
    ['{name}.json', 'a.b.json', { name: 'a.b' }],
    ['file:///{+path}/{name}', 'file:///a/b/c', { path: 'a/b', name: 'c' }],
    ['note://{id}', 'note://a,b', { id: 'a,b' }],
    ['note://{id}', 'note://é世', { id: 'é世' }],
    ['note://{id}', 'note://%C3%A9%2F', { id: 'é/' }],
    ['a://{b.c}/{d%20e}', 'a://1/2', { 'b.c': '1', 'd%20e': '2' }],
    ['a://{__proto__}', 'a://1', Object.fromEntries([['__proto__', '1']])],
  ])('%s takes %s apart', (template, uri, variables) => {
    expect(uriTemplate(template).match(uri)).toEqual(variables)
  })
})

test.each([
  '{',
  '}',
  'a{b',
  'a}b',
  '{}',
  '{a b}',
  '{a,}',
  '{,a}',
  '{+}',
  '{a*}',
  '{a:3}',
  '{=a}',
  '{!a}',
  '{|a}',
  '{@a}',
  '{%zz}',
  '{a..b}',
  '{a}/{a}',
  'a b{c}',
  'a"{c}',
  'a%zz{c}',
  '{{a}}',
])('L-28 %j is no template of these levels', (text) => {
  expect(() => uriTemplate(text)).toThrow(TypeError)
})

describe('L-27 a match takes time by the length of the URI, whatever the template', () => {
  test.each(['x://{a}-{b}-{c}-{d}-{e}', 'x://{+a}{+b}{+c}{+d}', 'x://{+a}/{+b}/{+c}{?d,e,f}'])('%s', (template) => {
    const { match } = uriTemplate(template)
    const uri = `x://${'-/'.repeat(4000)}?`
    const start = performance.now()
    for (let i = 0; i < 5; i++) match(uri)
    // A backtracking match would take years.
    expect(performance.now() - start).toBeLessThan(5000)
  })

  test('a URI of more than 8,192 characters matches nothing', () => {
    const { match } = uriTemplate('x://{a}')
    expect(match(`x://${'a'.repeat(8188)}`)).toBeDefined()
    expect(match(`x://${'a'.repeat(8189)}`)).toBeUndefined()
  })
})

test.each(['..', '../a', 'a/..', 'a/../b', '..\\a', '/..', '%2e%2e', 'a/%2E%2E/b', '..%2f', 'a\0', '%00'])(
  'L-27 %j climbs',
  (value) => {
    expect(climbs(['a', value])).toBe(true)
  },
)

test.each(['', 'a', '...', 'a..b', '..a', '.', './a', '%'])('L-27 %j does not climb', (value) => {
  expect(climbs([value])).toBe(false)
})
