// Notes in memory: bounded, searched by words.

export interface Note {
  id: string
  title: string
  text: string
}

export interface Notes {
  /** Throws a RangeError when there is no room. */
  add(title: string, text: string): Note
  get(id: string): Note | undefined
  /** True if there was one. */
  delete(id: string): boolean
  /** Newest first. */
  list(): Note[]
  /** Those that have every word of the query, the most telling first: a word in the title counts for more. */
  search(query: string): Note[]
}

/** Notes kept at most. */
const MAX_NOTES = 1000

export function createNotes(): Notes {
  const notes = new Map<string, Note>()
  let made = 0
  const list = () => [...notes.values()].reverse()

  return {
    add(title, text) {
      if (notes.size >= MAX_NOTES) throw new RangeError(`there is room for ${MAX_NOTES} notes; delete one first`)
      const note = { id: String(++made), title, text }
      notes.set(note.id, note)
      return note
    },
    get: (id) => notes.get(id),
    delete: (id) => notes.delete(id),
    list,
    search(query) {
      const wanted = wordsOf(query)
      if (wanted.length === 0) return []
      const scores = list().map((note) => ({ note, score: scoreOf(note, wanted) }))
      return scores
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score)
        .map(({ note }) => note)
    },
  }
}

/** In lower case, in order. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

function scoreOf({ title, text }: Note, wanted: readonly string[]): number {
  const [inTitle, inText] = [wordsOf(title), wordsOf(text)]
  let score = 0
  for (const word of wanted) {
    const hits = 3 * count(inTitle, word) + count(inText, word)
    if (hits === 0) return 0
    score += hits
  }
  return score
}

/** Words that begin with it, so that "rope" finds "ropes". */
function count(words: readonly string[], start: string): number {
  return words.filter((word) => word.startsWith(start)).length
}
