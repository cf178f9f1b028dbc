// The bytes of a request, made once; only the digits of its id change from one call to the next.

/** Ids have seven digits, so that the body keeps its length. */
export const FIRST_ID = 1_000_000
const LAST_ID = 9_999_999
const DIGITS = 7

let lastId = FIRST_ID

export function nextId(): number {
  lastId = lastId === LAST_ID ? FIRST_ID + 1 : lastId + 1
  return lastId
}

export interface PreparedRequest {
  bytes: Buffer
  /** Offsets of the id's digits: the request's id, and its progress token if it has one. */
  idAt: readonly number[]
}

/** The body carries FIRST_ID wherever the id of a call is to be. */
export function prepareRequest(url: URL, headers: Readonly<Record<string, string>>, body: unknown): PreparedRequest {
  const text = JSON.stringify(body)
  const lines = [`POST ${url.pathname} HTTP/1.1`, `Host: ${url.host}`]
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  const head = `${lines.join('\r\n')}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n`
  const bytes = Buffer.from(head + text)
  const idAt: number[] = []
  const from = Buffer.byteLength(head)
  for (let at = bytes.indexOf(String(FIRST_ID), from); at >= 0; at = bytes.indexOf(String(FIRST_ID), at + DIGITS)) {
    idAt.push(at)
  }
  return { bytes, idAt }
}

export function setId(request: PreparedRequest, id: number): void {
  for (const at of request.idAt) {
    let rest = id
    for (let i = at + DIGITS - 1; i >= at; i--) {
      request.bytes[i] = 48 + (rest % 10)
      rest = Math.trunc(rest / 10)
    }
  }
}
