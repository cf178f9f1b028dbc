// requestState: sealed with AES-GCM under a ring of keys, so that a client can carry it and do nothing else with it.
import type { Node } from '../node.ts'
import type { Key } from '../store.ts'

const KEY_BYTES = 32
const KEY_ID_BYTES = 4
const IV_BYTES = 12
const HEAD_BYTES = KEY_ID_BYTES + IV_BYTES
const TAG_BYTES = 16
/** Larger ones are not opened, and not made. */
export const STATE_MAX_CHARS: number = 64 * 1024
/** A ring that nobody uses for so long is made anew. */
const RING_MS = 30 * 86_400_000
/** A node that uses it looks at it so often, and gives it a new life. */
const RING_RENEWAL_MS = 86_400_000
const RING: Key = { tag: 'keys', name: 'ring' }

export interface Seal {
  /** `bound` is what the state is good for; it must be the same when it comes back. */
  seal(text: string, bound: string): Promise<string>
  /** undefined: not one of ours, not for this, or too large. */
  open(state: string, bound: string): Promise<string | undefined>
}

interface SealKey {
  readonly id: Uint8Array<ArrayBuffer>
  readonly key: CryptoKey
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export function toBase64Url(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]*$/.test(text) || text.length % 4 === 1) return undefined
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = Uint8Array.from(binary, (unit) => unit.charCodeAt(0))
  // Unused bits of the last character: only one spelling of a state is taken.
  return toBase64Url(bytes) === text ? bytes : undefined
}

async function importKey(text: string): Promise<SealKey> {
  const bytes = fromBase64Url(text)
  if (bytes?.length !== KEY_BYTES) throw new TypeError(`a key must be ${KEY_BYTES} bytes in base64url`)
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return {
    id: new Uint8Array(digest).slice(0, KEY_ID_BYTES),
    key: await crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt']),
  }
}

export function createSeal(node: Node): Seal {
  const { store, settings } = node
  let ring: Promise<SealKey[]> | undefined
  /** Store time at which the ring was looked at. */
  let lookedAt = 0

  /** With no keys given, one is made once, and shared through the store: laptop to fleet stays one line. */
  async function shared(): Promise<SealKey[]> {
    lookedAt = store.now()
    const fresh = toBase64Url(crypto.getRandomValues(new Uint8Array(KEY_BYTES)))
    const text = (await store.kv.get(RING, RING_MS)) ?? (await store.kv.add(RING, fresh, RING_MS))
    return [await importKey(text!)]
  }

  function keys(): Promise<SealKey[]> {
    if (!ring) {
      ring = settings.stateKeys ? Promise.all(settings.stateKeys.map(importKey)) : shared()
      ring.catch(() => {
        ring = undefined
      })
    } else if (!settings.stateKeys && store.now() > lookedAt + RING_RENEWAL_MS) {
      // Nobody waits for it: the ring that is known is as good as before.
      shared().then(
        (renewed) => {
          ring = Promise.resolve(renewed)
        },
        (error) => node.report(error, 'seal'),
      )
    }
    return ring
  }

  async function find(id: Uint8Array): Promise<SealKey | undefined> {
    const match = ({ id: own }: SealKey) => own.every((byte, i) => byte === id[i])
    const known = (await keys()).find(match)
    if (known || settings.stateKeys) return known
    // The store may have been emptied, and another node have made a new ring.
    ring = undefined
    return (await keys()).find(match)
  }

  return {
    async seal(text, bound) {
      const [{ id, key }] = (await keys()) as [SealKey]
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES))
      const sealed = await crypto.subtle.encrypt(
        { name: 'AES-GCM', iv, additionalData: encoder.encode(bound) },
        key,
        encoder.encode(text),
      )
      const state = new Uint8Array(HEAD_BYTES + sealed.byteLength)
      state.set(id)
      state.set(iv, KEY_ID_BYTES)
      state.set(new Uint8Array(sealed), HEAD_BYTES)
      const encoded = toBase64Url(state)
      if (encoded.length > STATE_MAX_CHARS) throw new Error(`requestState is larger than ${STATE_MAX_CHARS} characters`)
      return encoded
    },
    async open(state, bound) {
      if (state.length > STATE_MAX_CHARS) return undefined
      const bytes = fromBase64Url(state)
      if (!bytes || bytes.length < HEAD_BYTES + TAG_BYTES) return undefined
      const known = await find(bytes.subarray(0, KEY_ID_BYTES))
      if (!known) return undefined
      const iv = bytes.slice(KEY_ID_BYTES, HEAD_BYTES)
      const additionalData = encoder.encode(bound)
      try {
        return decoder.decode(
          await crypto.subtle.decrypt({ name: 'AES-GCM', iv, additionalData }, known.key, bytes.slice(HEAD_BYTES)),
        )
      } catch {
        return undefined
      }
    },
  }
}
