import { expect, test } from 'vitest'
import { FIRST_ID, nextId, prepareRequest, setId } from './requests.ts'

test('an id is put in its places and changes nothing else', () => {
  const body = { id: FIRST_ID, params: { _meta: { progressToken: FIRST_ID }, text: 'é' } }
  const request = prepareRequest(new URL('http://127.0.0.1:10000/mcp'), { A: 'b' }, body)
  const id = nextId()
  expect(String(id)).toHaveLength(7)
  setId(request, id)
  const [head = '', text = ''] = request.bytes.toString().split('\r\n\r\n')
  expect(JSON.parse(text)).toEqual({ id, params: { _meta: { progressToken: id }, text: 'é' } })
  expect(head.split('\r\n')).toEqual([
    'POST /mcp HTTP/1.1',
    'Host: 127.0.0.1:10000',
    'A: b',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ])
  expect(nextId()).not.toBe(id)
})
