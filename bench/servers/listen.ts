import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HOSTNAME } from './server.ts'

/** Listens on any free port and gives the URL of the endpoint. */
export function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, HOSTNAME, () => resolve(`http://${HOSTNAME}:${(server.address() as AddressInfo).port}/mcp`))
  })
}
