/** Without its percent-encoding (RFC 3986, 2.1); undefined: it is not legal, or not UTF-8. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
