// Nodes over one Redis with a prefix of their own, behind a dumb balancer.
import { inject } from 'vitest'
import { newPrefix } from '../../../packages/redis/test-support/flavours.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { type FieldNode, startNode } from './node.ts'

export interface Fleet extends AsyncDisposable {
  readonly nodes: readonly FieldNode[]
  readonly balancer: Balancer
  /** Of the balancer. */
  readonly url: string
  readonly prefix: string
  readonly redisUrl: string
  /** One more, which the balancer does not know. */
  add(args?: readonly string[], root?: string): Promise<FieldNode>
  stop(): Promise<void>
}

export interface FleetOptions {
  redisUrl?: string
  prefix?: string
}

/** So many nodes with the same options. `await using`, or stop it. */
export async function startFleet(
  count: number,
  args: readonly string[] = [],
  { redisUrl = inject('redisUrl'), prefix = newPrefix() }: FleetOptions = {},
): Promise<Fleet> {
  const all: FieldNode[] = []
  const add: Fleet['add'] = async (more = args, root) => {
    const node = await startNode({ redisUrl, prefix, args: more, root })
    all.push(node)
    return node
  }
  try {
    await Promise.all(Array.from({ length: count }, () => add()))
  } catch (error) {
    await Promise.all(all.map((node) => node.end('SIGKILL')))
    throw error
  }
  const nodes = [...all]
  const balancer = await startBalancer(nodes.map(({ url }) => url))
  const stop = async () => {
    await balancer.close()
    await Promise.all(all.map((node) => node.end('SIGKILL')))
  }
  return { nodes, balancer, url: balancer.url, prefix, redisUrl, add, stop, [Symbol.asyncDispose]: stop }
}
