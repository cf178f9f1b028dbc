import { Command } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { checkPrefix, namesUnder, prefixOf } from './keys.ts'

const slot = (key: string) => new Command('get', [key]).getSlot()
const tags = ['s', '', '%', '{', '}', '{}', 'a{b}c', '%7B', 'x:y', 'né', '{s}', 'node:abc']

describe('names in Redis', () => {
  it.each(['', 'app:', 'app{', 'app}', '}{', '{own}:', prefixOf('a server {1}')])(
    'S61 under %j all of one tag have one slot, and different keys different names',
    (prefix) => {
      const { record, topic } = namesUnder(prefix)
      const all = new Set<string>()
      for (const tag of tags) {
        const names = ['session', '', '{x}', '}', 'stream:{', 'é'].map((name) => record({ tag, name }))
        for (const name of names) {
          expect(slot(name)).toBe(slot(names[0]!))
          all.add(name)
        }
      }
      for (const tag of tags) {
        const [entries, state] = topic(tag)
        expect(slot(state)).toBe(slot(entries))
        all.add(entries).add(state)
      }
      expect(all.size).toBe(tags.length * 8)
      for (const name of all) expect(name.startsWith(`${prefix}v1:`)).toBe(true)
    },
  )

  it('S61 tags spread over the slots, unless the prefix holds a tag of its own', () => {
    const slots = (prefix: string) => {
      const { record } = namesUnder(prefix)
      return new Set(Array.from({ length: 50 }, (_, i) => slot(record({ tag: `s${i}`, name: 'session' })))).size
    }
    expect(slots('app:')).toBeGreaterThan(40)
    expect(slots('{app}:')).toBe(1)
  })

  it('W23 the default prefix differs by server', () => {
    expect(prefixOf('notes')).toBe('fairlead:notes:')
    expect(prefixOf('notes:v1')).not.toContain('notes:v1')
    expect(prefixOf('{notes}')).not.toMatch(/[{}]/)
  })

  it('an empty hash tag in the prefix is refused: it would spread what must lie together', () => {
    expect(() => checkPrefix('app{}:')).toThrow(TypeError)
    expect(() => checkPrefix('app{x}:')).not.toThrow()
  })
})
