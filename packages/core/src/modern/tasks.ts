// The tasks extension (SEP-2663) over the store: any node answers for any task.
import { nanoid } from 'nanoid'
import { Answer } from '../answer.ts'
import { Call, type Wire } from '../calls.ts'
import { runHandler } from '../dispatch.ts'
import { CODE, McpError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { isObject } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import type { Awaitable, Json, Principal, Result, Route } from '../server.ts'
import { isAnswer } from './ask.ts'
import type { TaskStates } from './listen.ts'
import { createOnce } from './once.ts'
import { GRACE_MS, inputsKey, isOver, lifeOf, Run, type TaskRecord, taskKey } from './task-run.ts'

export type TaskRoute = NonNullable<Route['task']>

const TASK_ID = /^[\w-]{22}$/
const INPUTS_LIMIT = { entries: 1000, bytes: 1024 * 1024 }
const UNKNOWN = 'no such task'

export interface Tasks extends TaskStates {
  /** Makes a task of a call: durable before the client hears of it (K-06). What the handler does from then on is the task's. */
  start(call: Call, task: TaskRoute): Promise<void>
  /** tasks/get, tasks/update, tasks/cancel. */
  readonly methods: Readonly<Record<string, (call: Call) => Promise<Result>>>
  /** Stops what runs here. */
  close(): Promise<void>
}

export function createTasks(node: Node, wire: () => Wire): Tasks {
  const { store, fleet, changes, settings } = node
  const runs = new Map<string, Run>()
  const running = new Map<string, number>()
  const runOnce = createOnce(node)

  fleet.receive(
    'task-input',
    ({ task }) =>
      void runs
        .get(task as string)
        ?.wake()
        .catch((error) => node.report(error, 'task')),
  )
  fleet.receive('task-cancel', ({ task }) => void runs.get(task as string)?.cancel())
  fleet.onMissed(() => {
    for (const run of runs.values()) run.wake().catch((error) => node.report(error, 'task'))
  })

  /** From here on this node runs the task, on behalf of that call. */
  function own(id: string, text: string, call: Call): void {
    const who = call.principal?.id
    if (who !== undefined) running.set(who, (running.get(who) ?? 0) + 1)
    const once = <T extends Json | void>(_call: Call, key: string, fn: () => Awaitable<T>) =>
      runOnce(`task:${id}`, key, fn)
    const run = new Run(node, id, text, call, once, () => {
      if (!runs.delete(id) || who === undefined) return
      const left = running.get(who)! - 1
      if (left === 0) running.delete(who)
      else running.set(who, left)
    })
    runs.set(id, run)
    call.task = run
  }

  async function peek(id: string): Promise<{ text: string; record: TaskRecord } | undefined> {
    if (!TASK_ID.test(id)) return undefined
    const text = await store.kv.get(taskKey(id))
    return text === undefined ? undefined : { text, record: JSON.parse(text) as TaskRecord }
  }

  /** The record as it is after what had to become of it: its time may be up, its owner dead. */
  async function find(id: string): Promise<TaskRecord | undefined> {
    for (;;) {
      const found = await peek(id)
      if (!found) return undefined
      const { text, record } = found
      const isLate = store.now() > record.createdAt + record.ttlMs
      if (isOver(record)) return isLate ? undefined : record
      if (isLate) await settle(id, text, { ...record, status: 'failed', ...failure('the task has expired') })
      else if (record.owner === node.id || (await fleet.leaseLeft(record.owner)) > 0) return record
      else if (record.again) await takeOver(id, text, record)
      else await settle(id, text, { ...record, status: 'failed', ...failure('the server that ran this task is gone') })
    }
  }

  function failure(message: string): Pick<TaskRecord, 'statusMessage' | 'error'> {
    return { statusMessage: message, error: { code: CODE.internal, message } }
  }

  /** A change by who is not the owner; if somebody was faster, theirs counts. */
  async function settle(
    id: string,
    text: string,
    { inputRequests: _, again: __, ...record }: TaskRecord,
  ): Promise<void> {
    const now = store.now()
    const after = { ...record, updatedAt: now }
    if (!(await store.kv.swap(taskKey(id), text, JSON.stringify(after), lifeOf(after, now)))) return
    await changes.publish({ kind: 'task', uri: id }).catch(() => {})
  }

  /** restart: 'safe'. The task of a dead node runs here again, from the top. */
  async function takeOver(id: string, text: string, record: TaskRecord): Promise<void> {
    await fleet.join()
    const { message, version, client, principal, url } = record.again!
    const { inputRequests: _, ...rest } = record
    const after: TaskRecord = {
      ...rest,
      owner: node.id,
      run: record.run + 1,
      status: 'working',
      updatedAt: store.now(),
    }
    const next = JSON.stringify(after)
    if (!(await store.kv.swap(taskKey(id), text, next, lifeOf(after, store.now())))) return
    const nowhere = new Answer(node, { json: true, sse: false }, () => {
      throw new Error('a task that runs again has no stream')
    })
    nowhere.end(undefined)
    const call = new Call(node, wire(), version, message, detached(url), nowhere)
    call.client = client
    call.principal = principal
    own(id, next, call)
    runHandler(call)
  }

  function mustSee(record: TaskRecord | undefined, principal: Principal | undefined): asserts record is TaskRecord {
    // Another's task is as unknown as none (K-19).
    if (!record || record.principal !== principal?.id) throw new McpError(CODE.invalidParams, UNKNOWN)
  }

  function idOf(call: Call): string {
    const id = call.message.params?.taskId
    if (typeof id !== 'string') throw new McpError(CODE.invalidParams, 'params.taskId must be a string')
    return id
  }

  function stateOf(id: string, record: TaskRecord): { [key: string]: unknown } {
    const { status, statusMessage, createdAt, updatedAt, ttlMs, pollIntervalMs, result, error, inputRequests } = record
    return {
      taskId: id,
      status,
      statusMessage,
      createdAt: new Date(createdAt).toISOString(),
      lastUpdatedAt: new Date(updatedAt).toISOString(),
      ttlMs,
      pollIntervalMs,
      result,
      error,
      inputRequests,
    }
  }

  return {
    async start(call, task) {
      const { principal, message, version, client, exchange } = call
      if (principal && (running.get(principal.id) ?? 0) >= settings.limits.tasksPerPrincipal) {
        throw new McpError(CODE.internal, 'too many tasks are running for you: try again later')
      }
      await fleet.join()
      const id = nanoid(22)
      const now = store.now()
      const record: TaskRecord = {
        v: 1,
        owner: node.id,
        run: 1,
        status: 'working',
        createdAt: now,
        updatedAt: now,
        ttlMs: task.ttlMs,
        pollIntervalMs: task.pollIntervalMs,
        ...(principal ? { principal: principal.id } : {}),
        ...(task.restart === 'safe'
          ? { again: { message, version, client, url: exchange.url, ...(principal ? { principal } : {}) } }
          : {}),
      }
      const text = JSON.stringify(record)
      await store.kv.add(taskKey(id), text, task.ttlMs + GRACE_MS)
      call.respond({ resultType: 'task', ...stateOf(id, record) })
      own(id, text, call)
    },
    methods: {
      'tasks/get': async (call) => {
        const id = idOf(call)
        const record = await find(id)
        mustSee(record, call.principal)
        return stateOf(id, record)
      },
      'tasks/update': async (call) => {
        const id = idOf(call)
        const record = await find(id)
        mustSee(record, call.principal)
        const responses = call.message.params?.inputResponses
        if (!isObject(responses)) throw new McpError(CODE.invalidParams, 'params.inputResponses must be an object')
        const inputs: string[] = []
        for (const [key, answer] of Object.entries(responses)) {
          const asked = record.inputRequests?.[key]
          if (!asked) continue // K-12
          if (!isAnswer(asked.method, answer))
            throw new McpError(CODE.invalidParams, `the answer for ${JSON.stringify(key)} is not valid`)
          inputs.push(JSON.stringify([key, answer]))
        }
        if (inputs.length === 0) return {}
        const ttlMs = lifeOf(record, store.now())
        await store.log.append(inputsKey(id), inputs, {
          guard: taskKey(id),
          ttlMs,
          limit: INPUTS_LIMIT,
          token: nanoid(),
        })
        if (record.owner === node.id) await runs.get(id)?.wake()
        else await fleet.tell(record.owner, { kind: 'task-input', task: id })
        return {}
      },
      'tasks/cancel': async (call) => {
        const id = idOf(call)
        const record = await find(id)
        mustSee(record, call.principal)
        if (isOver(record)) return {}
        if (record.owner === node.id) await runs.get(id)?.cancel()
        else await fleet.tell(record.owner, { kind: 'task-cancel', task: id })
        return {}
      },
    },
    async known(ids, principal) {
      const found = await Promise.all(ids.map(async (id) => ({ id, record: await find(id) })))
      return found.flatMap(({ id, record }) => (record && record.principal === principal?.id ? [id] : []))
    },
    async state(id) {
      const record = await find(id)
      return record && stateOf(id, record)
    },
    async close() {
      for (const run of [...runs.values()]) {
        const found = await peek(run.id)
        run.abandon()
        if (found && !found.record.again && !isOver(found.record)) {
          await settle(run.id, found.text, {
            ...found.record,
            status: 'failed',
            ...failure('the server that ran this task has stopped'),
          })
        }
      }
    },
  }
}

/** A task that runs again has no HTTP request any more. */
function detached(url: string): Exchange {
  return {
    method: 'POST',
    url,
    platform: undefined,
    header: () => undefined,
    body: () => ({ fault: 'consumed' }),
    onDisconnect: () => {},
    request: () => new Request(url, { method: 'POST' }),
  }
}
