import { describe, expect, test, vi } from 'vitest'
import { type Body, refuse, type Sink, type Stream, toResponse, WebExchange } from './exchange.ts'

const encoder = new TextEncoder()
const URL = 'http://localhost/mcp'

/** A request whose body comes in these pieces. */
function inPieces(pieces: Iterable<Uint8Array>, init: RequestInit = {}): Request {
  const rest = pieces[Symbol.iterator]()
  const body = new ReadableStream({
    pull(controller) {
      const { done, value } = rest.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
  return new Request(URL, { method: 'POST', ...init, body, duplex: 'half' } as RequestInit)
}

async function bodyOf(request: Request, limit = 1000): Promise<Body> {
  return new WebExchange(request, undefined).body(limit)
}

describe('the body', () => {
  const text = JSON.stringify({ text: 'Café 你好 🙂' })
  const bytes = encoder.encode(text)

  test('S35 A-01 is the same wherever it was split', async () => {
    for (let at = 0; at <= bytes.length; at++) {
      expect(await bodyOf(inPieces([bytes.slice(0, at), bytes.slice(at)]))).toEqual({ text })
    }
    expect(await bodyOf(inPieces([...bytes].map((byte) => Uint8Array.of(byte))))).toEqual({ text })
  })

  test.each<[string, number[]]>([
    ['a lone continuation', [0x22, 0x80, 0x22]],
    ['a cut sequence', [0x22, 0xe4, 0xbd]],
    ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
    ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['UTF-16', [0xff, 0xfe, 0x22, 0x00]],
  ])('A-01 %s is not UTF-8', async (_what, units) => {
    expect(await bodyOf(inPieces([Uint8Array.from(units)]))).toEqual({ fault: 'not-utf8' })
  })

  test('S29 no body at all is an empty text', async () => {
    expect(await bodyOf(new Request(URL, { method: 'POST' }))).toEqual({ text: '' })
  })

  test('S34 exactly the limit is taken, one byte more is not', async () => {
    expect(await bodyOf(inPieces([bytes]), bytes.length)).toEqual({ text })
    expect(await bodyOf(inPieces([bytes]), bytes.length - 1)).toEqual({ fault: 'too-large' })
  })

  test('S34 a length that is too large is refused before anything is read', async () => {
    let pulled = 0
    const body = new ReadableStream({ pull: () => void pulled++ }, { highWaterMark: 0 })
    const headers = { 'content-length': '1001' }
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
    expect(await bodyOf(new Request(URL, init), 1000)).toEqual({ fault: 'too-large' })
    expect(pulled).toBe(0)
  })

  test('S34 an endless body is read up to the limit, then let go', async () => {
    let pulled = 0
    const cancel = vi.fn()
    const pull = (controller: ReadableStreamDefaultController) => {
      pulled++
      controller.enqueue(new Uint8Array(100))
    }
    const body = new ReadableStream({ pull, cancel })
    const init = { method: 'POST', body, duplex: 'half' } as RequestInit
    expect(await bodyOf(new Request(URL, init), 1000)).toEqual({ fault: 'too-large' })
    expect(cancel).toHaveBeenCalledOnce()
    expect(pulled).toBeLessThan(20)
  })

  test('S34 a length that lies does not help', async () => {
    const request = inPieces([new Uint8Array(2000)], { headers: { 'content-length': '5' } })
    expect(await bodyOf(request, 1000)).toEqual({ fault: 'too-large' })
  })

  test('S62 one that was read before is a fault, at once', async () => {
    const request = new Request(URL, { method: 'POST', body: '{}' })
    await request.text()
    expect(await bodyOf(request)).toEqual({ fault: 'consumed' })
  })

  test('S62 one that somebody is reading is a fault, and nothing rejects', async () => {
    const request = new Request(URL, { method: 'POST', body: '{}' })
    request.body!.getReader()
    expect(await bodyOf(request)).toEqual({ fault: 'consumed' })
  })

  test('one that breaks off is a fault', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) })
    const init = { method: 'POST', body, duplex: 'half' } as RequestInit
    expect(await bodyOf(new Request(URL, init))).toEqual({ fault: 'aborted' })
  })
})

describe('the client is gone', () => {
  const exchangeWith = (signal: AbortSignal) =>
    new WebExchange(new Request(URL, { method: 'POST', body: '', signal }), 0)

  test('when the signal fires, once', () => {
    const client = new AbortController()
    const gone = vi.fn()
    exchangeWith(client.signal).onDisconnect(gone)
    expect(gone).not.toHaveBeenCalled()
    client.abort()
    expect(gone).toHaveBeenCalledOnce()
  })

  test('at once when it has fired already', () => {
    const gone = vi.fn()
    exchangeWith(AbortSignal.abort()).onDisconnect(gone)
    expect(gone).toHaveBeenCalledOnce()
  })
})

/** A stream whose sink is at hand, as the response of an exchange. */
function streamed() {
  const closed = vi.fn()
  let sink!: Sink
  const stream: Stream = {
    opened: (given) => {
      sink = given
    },
    closed,
  }
  const exchange = new WebExchange(new Request(URL, { method: 'POST', body: '' }), undefined)
  const response = toResponse({ status: 200, headers: { 'content-type': 'text/event-stream' }, body: stream }, exchange)
  return { closed, sink, response, exchange }
}

describe('a streamed reply', () => {
  test('reaches the reader piece by piece, and ends', async () => {
    const { sink, response } = streamed()
    const reader = response.body!.getReader()
    const read = async () => new TextDecoder().decode((await reader.read()).value)
    sink.write(': é\n\n')
    expect(await read()).toBe(': é\n\n')
    sink.write(': b\n\n')
    expect(await read()).toBe(': b\n\n')
    sink.end()
    expect((await reader.read()).done).toBe(true)
  })

  test('S13 pending counts what the reader has not taken beyond its own appetite', async () => {
    const { sink, response } = streamed()
    const piece = `:${' '.repeat(99_997)}\n\n`
    expect(sink.pending).toBe(0)
    for (let i = 0; i < 10; i++) sink.write(piece)
    expect(sink.pending).toBeGreaterThanOrEqual(900_000)
    const reader = response.body!.getReader()
    for (let i = 0; i < 10; i++) await reader.read()
    expect(sink.pending).toBe(0)
  })

  test('S12 a reader that cancels is told of once, and later writes and ends are harmless', async () => {
    const { sink, response, closed, exchange } = streamed()
    const gone = vi.fn()
    exchange.onDisconnect(gone)
    await response.body!.cancel()
    expect(closed).toHaveBeenCalledOnce()
    expect(gone).toHaveBeenCalled()
    sink.write(': late\n\n')
    sink.end()
    sink.end()
    expect(sink.pending).toBe(0)
  })

  test('writes after the end go nowhere', async () => {
    const { sink, response } = streamed()
    sink.write(': a\n\n')
    sink.end()
    sink.write(': b\n\n')
    expect(await response.text()).toBe(': a\n\n')
  })
})

test('S32 B-02 R12 an accepted reply has no body and no Content-Type', async () => {
  const response = toResponse({ status: 202, headers: {} }, new WebExchange(new Request(URL), undefined))
  expect(response.body).toBeNull()
  expect([...response.headers]).toEqual([])
})

test('a refusal carries its status, headers, code and id', async () => {
  const reply = refuse({ status: 503, code: -32603, message: 'later', headers: { 'retry-after': '1' } }, 'a')
  const response = toResponse(reply, new WebExchange(new Request(URL), undefined))
  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toBe('1')
  expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 'a', error: { code: -32603, message: 'later' } })
})

test("the app's own functions see the request itself", () => {
  const request = new Request(URL, { headers: { 'x-foo': 'bar' } })
  const exchange = new WebExchange(request, { env: 1 })
  expect(exchange.request()).toBe(request)
  expect(exchange.platform).toEqual({ env: 1 })
  expect([exchange.header('x-foo'), exchange.header('x-bar')]).toEqual(['bar', undefined])
})
