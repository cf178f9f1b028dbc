import { describe, expect, test } from 'vitest'
import { TestServer } from '../test-support/server.ts'
import { resolveOptions, type TransportOptions } from './options.ts'
import { VERSIONS } from './protocol.ts'
import { createTransport } from './transport.ts'

describe('defaults', () => {
  const settings = resolveOptions({})

  test('R03 R05 sessions are on, required, and live for an hour without use', () => {
    expect(settings.sessions).toMatchObject({ required: true, ttlMs: 3_600_000 })
  })

  test('every revision, newest first', () => {
    expect(settings.versions).toEqual(['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'])
  })

  test('the rest', () => {
    expect(settings).toMatchObject({
      response: 'auto',
      cors: false,
      streams: { keepAliveMs: 15_000, streamAfterMs: 100, pingMs: 0 },
    })
    expect(settings.limits.bodyBytes).toBeGreaterThanOrEqual(1024 * 1024)
  })

  test('a default inside a group is kept when its neighbour is given', () => {
    expect(resolveOptions({ streams: { keepAliveMs: 5 } }).streams).toMatchObject({
      keepAliveMs: 5,
      streamAfterMs: 100,
    })
    expect(resolveOptions({ sessions: { ttlMs: 5 } }).sessions).toMatchObject({ ttlMs: 5, required: true })
  })
})

test('versions come newest first, in whatever order they were given', () => {
  expect(resolveOptions({ versions: [...VERSIONS].reverse() }).versions).toEqual(VERSIONS)
})

test('auth may be its function alone', async () => {
  const authenticate = async () => ({ id: 'a' })
  expect(resolveOptions({ auth: authenticate }).auth?.authenticate).toBe(authenticate)
  expect(resolveOptions({ auth: { authenticate } }).auth?.authenticate).toBe(authenticate)
})

describe('a bad option is refused at construction, by its name', () => {
  test.each<[string, unknown]>([
    ['store', { store: 'redis://localhost' }],
    ['store', { store: null }],
    ['auth', { auth: 'Bearer' }],
    ['auth', { auth: {} }],
    ['context', { context: {} }],
    ['versions', { versions: [] }],
    ['versions', { versions: ['2024-11-05'] }],
    ['versions', { versions: '2025-11-25' }],
    ['sessions', { sessions: true }],
    ['sessions', { sessions: { ttlMs: 0 } }],
    ['sessions', { sessions: { ttlMs: 1.5 } }],
    ['sessions', { sessions: { ttl: 1000 } }],
    ['sessions', { sessions: { max: -1 } }],
    ['sessions', { sessions: { required: 'yes' } }],
    ['onSessionStart', { onSessionStart: 1 }],
    ['onSessionEnd', { onSessionEnd: {} }],
    ['response', { response: 'xml' }],
    ['streams', { streams: 5 }],
    ['streams.keepAliveMs', { streams: { keepAliveMs: -1 } }],
    ['streams.keepAliveMs', { streams: { keepAliveMs: '15s' } }],
    ['streams.keepAliveMs', { streams: { keepAliveMs: Number.NaN } }],
    ['streams.streamAfterMs', { streams: { streamAfterMs: Number.POSITIVE_INFINITY } }],
    ['streams.maxBytes', { streams: { maxBytes: 0 } }],
    ['streams.maxEvents', { streams: { maxEvents: 0 } }],
    ['streams.maxAgeMs', { streams: { maxAgeMs: 0 } }],
    ['streams.pingTimeoutMs', { streams: { pingTimeoutMs: 0 } }],
    ['streams.keepAlive', { streams: { keepAlive: 1 } }],
    ['hosts', { hosts: 'localhost' }],
    ['hosts', { hosts: [''] }],
    ['hosts', { hosts: ['http://localhost'] }],
    ['hosts', { hosts: ['localhost/path'] }],
    ['hosts', { hosts: ['a b'] }],
    ['origins', { origins: '*' }],
    ['origins', { origins: ['app.example'] }],
    ['origins', { origins: ['https://app.example/path'] }],
    ['origins', { origins: ['*'] }],
    ['cors', { cors: 'yes' }],
    ['limits.bodyBytes', { limits: { bodyBytes: 0 } }],
    ['limits.jsonDepth', { limits: { jsonDepth: 'deep' } }],
    ['limits.inFlight', { limits: { inFlight: 0.5 } }],
    ['limits.body', { limits: { body: 1 } }],
    ['stateKeys', { stateKeys: [] }],
    ['stateKeys', { stateKeys: ['too-short'] }],
    ['leaseMs', { leaseMs: 0 }],
    ['observer', { observer: () => {} }],
    ['observer', { observer: { request: 'log' } }],
    ['onError', { onError: console }],
    ['hostnames', { hostnames: [] }],
  ])('%s: %j', (name, options) => {
    const make = () => createTransport(new TestServer(), options as TransportOptions)
    expect(make).toThrow(TypeError)
    expect(make).toThrow(name)
  })

  test('the options themselves', () => {
    expect(() => createTransport(new TestServer(), 'x' as TransportOptions)).toThrow(TypeError)
  })
})
