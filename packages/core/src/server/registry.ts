// What was registered of one kind, in the order of its registration; what is disabled is hidden.
import type { Registration } from './config.ts'

export class Registry<T> {
  readonly #all = new Map<string, { item: T; isEnabled: boolean }>()
  readonly #what: string
  readonly #changed: () => void
  #items: readonly T[] | undefined

  /** @param what one of them, for errors */
  constructor(what: string, changed: () => void) {
    this.#what = what
    this.#changed = changed
  }

  /** `make` runs if the name is free. */
  add(name: string, make: () => T): Registration {
    if (this.#all.has(name)) throw new TypeError(`${this.#what} ${JSON.stringify(name)} is registered already`)
    const entry = { item: make(), isEnabled: true }
    this.#all.set(name, entry)
    this.#touch()
    const set = (isEnabled: boolean) => {
      if (this.#all.get(name) !== entry || entry.isEnabled === isEnabled) return
      entry.isEnabled = isEnabled
      this.#touch()
    }
    return {
      enable: () => set(true),
      disable: () => set(false),
      remove: () => {
        if (this.#all.get(name) !== entry) return
        this.#all.delete(name)
        if (entry.isEnabled) this.#touch()
      },
    }
  }

  get(name: string): T | undefined {
    const entry = this.#all.get(name)
    return entry?.isEnabled ? entry.item : undefined
  }

  get items(): readonly T[] {
    this.#items ??= [...this.#all.values()].filter(({ isEnabled }) => isEnabled).map(({ item }) => item)
    return this.#items
  }

  #touch(): void {
    this.#items = undefined
    this.#changed()
  }
}
