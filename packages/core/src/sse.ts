// Server-sent events as text: frames, comments, and the headers of a stream.

export const SSE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // nginx and others hold events back without it (G-19).
  'x-accel-buffering': 'no',
}

export const COMMENT = ':\n\n'

/** One JSON-RPC message, on one line; with the event's id where the stream can be resumed. */
export function frame(json: string, id?: string): string {
  return id === undefined ? `data: ${json}\n\n` : `id: ${id}\ndata: ${json}\n\n`
}

/** An id to resume from before anything was said (D-06). */
export function primingFrame(id: string, retryMs?: number): string {
  return retryMs === undefined ? `id: ${id}\ndata: \n\n` : `id: ${id}\nretry: ${retryMs}\ndata: \n\n`
}

/** How long the client should wait before it comes back (D-07). */
export function retryFrame(retryMs: number): string {
  return `retry: ${retryMs}\n\n`
}
