// Latches: tests wait for events, and let handlers go on when they want them to.

interface Gate {
  open: boolean
  waiting: (() => void)[]
}

/** Named latches, closed until they are opened once. */
export class Gates {
  readonly #gates = new Map<string, Gate>()

  #gate(name: string): Gate {
    const gate = this.#gates.get(name) ?? { open: false, waiting: [] }
    this.#gates.set(name, gate)
    return gate
  }

  open(name: string): void {
    const gate = this.#gate(name)
    gate.open = true
    for (const go of gate.waiting.splice(0)) go()
  }

  /** Resolves when it is open; rejects with the signal's reason when that fires first. */
  pass(name: string, signal?: AbortSignal): Promise<void> {
    const gate = this.#gate(name)
    return new Promise((resolve, reject) => {
      if (gate.open) resolve()
      else gate.waiting.push(resolve)
      if (signal?.aborted) reject(signal.reason)
      else signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }
}
