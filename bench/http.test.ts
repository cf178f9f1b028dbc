import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { type Answer, Connection, parseAnswer } from './http.ts'

const FIXED = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhe\u00e9!'
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'
const CHUNKED_END = 'a\r\n, you all!\r\n0\r\n\r\n'

test('an answer with a length is whole when all its bytes are there', () => {
  const bytes = Buffer.from(FIXED)
  for (let i = 0; i < bytes.length; i++) expect(parseAnswer(bytes.subarray(0, i))).toBeUndefined()
  expect(parseAnswer(bytes)).toMatchObject({ status: 200, body: 'he\u00e9!' })
})

test('an answer in chunks is whole at the last chunk', () => {
  const bytes = Buffer.from(CHUNKED + CHUNKED_END)
  for (let i = 0; i < bytes.length; i++) expect(parseAnswer(bytes.subarray(0, i))).toBeUndefined()
  expect(parseAnswer(bytes)).toMatchObject({ status: 200, body: 'hello, you all!' })
})

test('what is no answer, has no length or is too long is an error', () => {
  expect(() => parseAnswer(Buffer.from('SSH-2.0\r\n\r\n'))).toThrow('not an HTTP/1.1 answer')
  expect(() => parseAnswer(Buffer.from('HTTP/1.1 200 OK\r\n\r\nhello'))).toThrow('without a length')
  expect(() => parseAnswer(Buffer.from(`${FIXED}!`))).toThrow('bytes after the answer')
  expect(() => parseAnswer(Buffer.from(`${CHUNKED}0\r\n\r\n!`))).toThrow('bytes after the answer')
  expect(() => parseAnswer(Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n'))).toThrow('size')
})

test('a connection carries one call after another, and a drop is an error', async () => {
  const parts = [[FIXED], [CHUNKED, CHUNKED_END], []]
  const server = createServer((socket) => {
    socket.on('data', async () => {
      const writes = parts.shift() ?? []
      for (const part of writes) await new Promise((resolve) => socket.write(part, resolve))
      if (writes.length === 0) socket.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const connection = await Connection.open(new URL(`http://127.0.0.1:${port}/`))
  const call = (): Promise<Answer> =>
    new Promise((resolve, reject) => connection.send(Buffer.from('call'), resolve, reject))
  expect((await call()).body).toBe('he\u00e9!')
  expect((await call()).body).toBe('hello, you all!')
  await expect(call()).rejects.toThrow('closed the connection')
  await expect(call()).rejects.toThrow('closed the connection')
  server.close()
})
