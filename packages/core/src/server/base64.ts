// Base64 on any runtime.

/** Bytes that go through `String.fromCharCode` at once: more arguments are too many for some engines. */
const CHUNK_BYTES = 0x8000

export function toBase64(bytes: Uint8Array): string {
  const { toBase64: native } = bytes as Uint8Array & { toBase64?(): string }
  if (native) return native.call(bytes)
  let binary = ''
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES))
  }
  return btoa(binary)
}

/** The text again; undefined where it is not base64 of UTF-8. */
export function textFromBase64(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}
