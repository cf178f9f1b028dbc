import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { TestServer } from '../test-support/server.ts'
import { Connection } from './connection.ts'
import type { Sink } from './exchange.ts'
import { memoryStore } from './memory-store.ts'
import { createNode, type Node } from './node.ts'
import { resolveOptions, type TransportOptions } from './options.ts'

/** A client that takes what it likes. */
class Pipe implements Sink {
  pending = 0
  readonly written: string[] = []
  readonly taken: (() => void)[] = []
  ends = 0
  write(text: string, taken?: () => void): void {
    this.written.push(text)
    this.pending += text.length
    if (taken) this.taken.push(taken)
  }
  end(): void {
    this.ends++
  }
}

function start(streams: TransportOptions['streams'] = {}) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const states: string[] = []
  const options = resolveOptions({
    streams,
    observer: { stream: ({ state }: { state: string }) => states.push(state) },
  })
  const node: Node = createNode(new TestServer(), options, memoryStore(), true)
  let gone = 0
  const connection = new Connection(node, () => gone++)
  return { node, connection, pipe: new Pipe(), states, gone: () => gone }
}

describe('Connection', () => {
  test('what is written before the head is sent comes first, in one piece, then the rest as it is written', () => {
    const { connection, pipe, node } = start()
    connection.write('a')
    connection.write('b')
    connection.opened(pipe)
    connection.write('c')
    expect(pipe.written).toEqual(['ab', 'c'])
    connection.end()
    connection.write('d')
    expect(pipe.written).toEqual(['ab', 'c'])
    expect([pipe.ends, node.connections.size, node.timers.count]).toEqual([1, 0, 0])
  })

  test('one that has ended before the head is sent is sent whole, and ends', () => {
    const { connection, pipe, gone } = start()
    connection.write('all')
    connection.end()
    connection.opened(pipe)
    expect([pipe.written, pipe.ends, gone()]).toEqual([['all'], 1, 0])
  })

  test('S12 a client that leaves is told of once; after that nothing is written, and no timer is left', () => {
    const { connection, pipe, node, gone } = start()
    connection.opened(pipe)
    connection.closed()
    connection.closed()
    connection.write('a')
    connection.end()
    vi.advanceTimersByTime(60_000)
    expect([pipe.written, gone(), node.connections.size, node.timers.count]).toEqual([[], 1, 0, 0])
  })

  test('an end in good order is no leave, also when the socket closes after it', () => {
    const { connection, pipe, gone, states } = start()
    connection.opened(pipe)
    connection.end()
    connection.closed()
    expect([gone(), states]).toEqual([0, ['open', 'close']])
  })

  test('S13 more than maxBytes that wait: cut off, once', () => {
    const { connection, pipe, gone, states, node } = start({ maxBytes: 10 })
    connection.opened(pipe)
    connection.write('x'.repeat(10))
    expect(gone()).toBe(0)
    connection.write('y')
    connection.write('z')
    expect([pipe.written.join(''), pipe.ends, gone()]).toEqual([`${'x'.repeat(10)}y`, 1, 1])
    expect(states).toEqual(['open', 'overflow', 'close'])
    expect([node.connections.size, node.timers.count]).toEqual([0, 0])
  })

  test('a client that takes what there is may be sent any amount', () => {
    const { connection, pipe } = start({ maxBytes: 10 })
    connection.opened(pipe)
    for (let i = 0; i < 100; i++) {
      connection.write('x'.repeat(10))
      pipe.pending = 0
    }
    expect([pipe.written.length, connection.open]).toEqual([100, true])
  })

  test('S08 comments at keepAliveMs, only where nothing waits, none with 0', () => {
    const { connection, pipe } = start({ keepAliveMs: 100 })
    connection.opened(pipe)
    vi.advanceTimersByTime(350)
    expect(pipe.written).toEqual([':\n\n']) // the others would wait behind it
    pipe.pending = 0
    vi.advanceTimersByTime(100)
    expect(pipe.written).toHaveLength(2)
    const none = start({ keepAliveMs: 0 })
    none.connection.opened(none.pipe)
    vi.advanceTimersByTime(100_000)
    expect([none.pipe.written, none.node.timers.count]).toEqual([[], 0])
  })

  test('who asks is told when what was written is taken, before the head too', () => {
    const { connection, pipe } = start()
    const taken: string[] = []
    connection.write('a', () => taken.push('a'))
    connection.write('b')
    connection.opened(pipe)
    connection.write('c', () => taken.push('c'))
    for (const tell of pipe.taken) tell()
    expect(taken).toEqual(['a', 'c'])
  })
})
