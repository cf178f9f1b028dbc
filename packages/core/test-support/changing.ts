// A server whose resources can be subscribed to and whose listings can be another deploy's.
import type { Description, ListKind } from '../src/server.ts'
import { TestServer } from './server.ts'

export class ChangingServer extends TestServer {
  fingerprints: Record<ListKind, string>

  constructor(fingerprints: Partial<Record<ListKind, string>> = {}) {
    super()
    this.fingerprints = { tools: 'one', prompts: 'one', resources: 'one', ...fingerprints }
  }

  override describe(): Description {
    const { capabilities, ...rest } = super.describe()
    const resources = { subscribe: true, listChanged: true }
    return { ...rest, capabilities: { ...capabilities, resources }, fingerprints: this.fingerprints }
  }
}
