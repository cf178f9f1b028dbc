// subscriptions/listen: a stream of changes, acknowledged first, each frame tagged with the request's id.
import { checksum } from '../canonical.ts'
import { type Change, wantOf } from '../changes.ts'
import { Connection } from '../connection.ts'
import { CODE } from '../errors.ts'
import { type Arrival, type Reply, refuse } from '../exchange.ts'
import { isObject, type JsonRpcRequest, notificationText, type RequestId, resultText, toJson } from '../jsonrpc.ts'
import type { Node } from '../node.ts'
import { META, type ProtocolVersion } from '../protocol.ts'
import * as REFUSE from '../refusals.ts'
import type { Principal } from '../server.ts'
import { frame, SSE_HEADERS } from '../sse.ts'

/** URIs and task ids of one listener. */
const WANTS_MAX = 1000

const LISTINGS = [
  ['toolsListChanged', 'tools'],
  ['promptsListChanged', 'prompts'],
  ['resourcesListChanged', 'resources'],
] as const

const FINAL: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled'])

export interface Listens {
  open(message: JsonRpcRequest, arrival: Arrival, version: ProtocolVersion): Promise<Reply>
  /** Ends all of them in good order (I-05). */
  drain(): void
}

/** What listens need of tasks. */
export interface TaskStates {
  /** Those of the ids that the principal may follow. */
  known(ids: readonly string[], principal: Principal | undefined): Promise<string[]>
  /** The whole state of a task, as `tasks/get` gives it; undefined: it is gone. */
  state(id: string): Promise<{ [key: string]: unknown } | undefined>
}

class Listen {
  readonly wants: ReadonlySet<string>
  readonly connection: Connection
  readonly #node: Node
  readonly #id: RequestId
  readonly #tasks: TaskStates
  /** One of each kind and URI: a client that does not read costs no more than that. */
  #pending = new Map<string, Change>()
  #busy = false
  /** The tasks that may still change, each with a checksum of what was told of it last. */
  readonly #following = new Map<string, string>()

  constructor(
    node: Node,
    id: RequestId,
    wants: ReadonlySet<string>,
    taskIds: readonly string[],
    tasks: TaskStates,
    closed: (listen: Listen) => void,
  ) {
    this.#node = node
    this.#id = id
    this.wants = wants
    this.#tasks = tasks
    for (const id of taskIds) this.#following.set(id, '')
    this.connection = new Connection(node, () => closed(this))
  }

  get taskIds(): Iterable<string> {
    return this.#following.keys()
  }

  acknowledge(notifications: object): void {
    this.#write([this.#text('notifications/subscriptions/acknowledged', { notifications })])
  }

  changed(changes: readonly Change[]): void {
    for (const change of changes) this.#pending.set(wantOf(change), change)
    if (!this.#busy) void this.#flush()
  }

  end(): void {
    const { info } = this.#node.server
    const meta = { [META.subscriptionId]: this.#id, [META.serverInfo]: info }
    this.connection.write(frame(resultText(this.#id, toJson({ resultType: 'complete', _meta: meta }))))
    this.connection.end()
  }

  async #flush(): Promise<void> {
    this.#busy = true
    const changes = [...this.#pending.values()]
    this.#pending = new Map()
    const texts: string[] = []
    for (const change of changes) {
      const text = change.kind === 'task' ? await this.#taskText(change.uri!) : this.#changeText(change)
      if (text !== undefined) texts.push(text)
    }
    this.#write(texts)
  }

  /** The next ones are written when these were taken. */
  #write(texts: readonly string[]): void {
    this.#busy = texts.length > 0
    if (this.#busy) this.connection.write(texts.map((text) => frame(text)).join(''), () => this.#taken())
    else this.#taken()
  }

  #taken(): void {
    this.#busy = false
    if (this.#pending.size > 0 && this.connection.open) void this.#flush()
  }

  #changeText({ kind, uri }: Change): string {
    return kind === 'resource'
      ? this.#text('notifications/resources/updated', { uri })
      : this.#text(`notifications/${kind}/list_changed`, {})
  }

  /** undefined: there is nothing new to say of it. */
  async #taskText(id: string): Promise<string | undefined> {
    const told = this.#following.get(id)
    if (told === undefined) return undefined
    try {
      const state = await this.#tasks.state(id)
      if (!state || FINAL.has(state.status)) this.#following.delete(id)
      if (!state) return undefined
      const text = this.#text('notifications/tasks', state)
      const sum = checksum(text)
      if (sum === told) return undefined
      if (this.#following.has(id)) this.#following.set(id, sum)
      return text
    } catch (error) {
      this.#node.report(error, 'listen')
      return undefined
    }
  }

  #text(method: string, params: object): string {
    return notificationText(method, { ...params, _meta: { [META.subscriptionId]: this.#id } })
  }
}

export function createListens(node: Node, tasks: TaskStates): Listens {
  const { server, changes, fleet, settings } = node
  const open = new Set<Listen>()
  /** Those that are not acknowledged yet have their place too. */
  let opening = 0

  function close(listen: Listen): void {
    changes.unlisten(listen)
    open.delete(listen)
  }

  /** Nobody tells of a task whose owner is dead, so each that is followed is looked at now and then. */
  fleet.onUpkeep(async () => {
    const followed = new Set([...open].flatMap(({ taskIds }) => [...taskIds]))
    for (const id of followed) await tasks.state(id).catch((error) => node.report(error, 'listen'))
  })

  /** What has become of the tasks already: that was published before this listen began. */
  async function catchUp(listen: Listen): Promise<void> {
    for (const uri of [...listen.taskIds]) {
      const state = await tasks.state(uri)
      if (state?.status !== 'working') listen.changed([{ kind: 'task', uri }])
    }
  }

  async function accept(
    id: RequestId,
    filter: Filter,
    { exchange, principal }: Arrival,
    version: ProtocolVersion,
  ): Promise<Reply> {
    const { capabilities } = server.describe(version)
    const honoured: Record<string, unknown> = {}
    const wants = new Set<string>()
    for (const [name, kind] of LISTINGS) {
      if (filter[name] !== true || !isDeclared(capabilities[kind], 'listChanged')) continue
      honoured[name] = true
      wants.add(kind)
    }
    const uris = filter.resourceSubscriptions
    if (uris && uris.length > 0 && isDeclared(capabilities.resources, 'subscribe')) {
      honoured.resourceSubscriptions = uris
      for (const uri of uris) wants.add(wantOf({ kind: 'resource', uri }))
    }
    const taskIds = filter.taskIds?.length ? await tasks.known(filter.taskIds, principal) : []
    if (taskIds.length > 0) honoured.taskIds = taskIds
    for (const uri of taskIds) wants.add(wantOf({ kind: 'task', uri }))
    if (wants.size > 0) await changes.place()
    if (node.draining) return refuse(REFUSE.draining, id)

    const listen = new Listen(node, id, wants, taskIds, tasks, close)
    listen.acknowledge(honoured)
    // nothing to wait for.
    if (wants.size === 0) listen.end()
    else {
      open.add(listen)
      changes.listen(listen)
      exchange.onDisconnect(() => {
        close(listen)
        listen.connection.end()
      })
      catchUp(listen).catch((error) => node.report(error, 'listen'))
    }
    return { status: 200, headers: SSE_HEADERS, body: listen.connection }
  }

  return {
    async open({ id, params }, arrival, version) {
      if (!arrival.forms.sse) return refuse(REFUSE.acceptStream, id)
      const filter = params?.notifications
      if (!isFilter(filter)) {
        return refuse(
          { status: 200, code: CODE.invalidParams, message: 'params.notifications must be a filter of notifications' },
          id,
        )
      }
      if (open.size + opening >= settings.limits.listens) return refuse(REFUSE.busy, id)
      opening++
      try {
        return await accept(id, filter, arrival, version)
      } finally {
        opening--
      }
    },
    drain() {
      for (const listen of [...open]) {
        close(listen)
        listen.end()
      }
    },
  }
}

interface Filter {
  toolsListChanged?: boolean
  promptsListChanged?: boolean
  resourcesListChanged?: boolean
  resourceSubscriptions?: string[]
  taskIds?: string[]
}

function isFilter(value: unknown): value is Filter {
  if (!isObject(value)) return false
  return (
    LISTINGS.every(([name]) => value[name] === undefined || typeof value[name] === 'boolean') &&
    isTexts(value.resourceSubscriptions) &&
    isTexts(value.taskIds)
  )
}

function isTexts(value: unknown): boolean {
  return (
    value === undefined ||
    (Array.isArray(value) && value.length <= WANTS_MAX && value.every((text) => typeof text === 'string'))
  )
}

function isDeclared(capability: unknown, flag: string): boolean {
  return isObject(capability) && capability[flag] === true
}
