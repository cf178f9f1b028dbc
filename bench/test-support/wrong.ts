// A server whose answers are right at first and then for another call: the bench must notice.
import { type Call, fixedAnswer } from '../servers/fixed.ts'
import { listen } from '../servers/listen.ts'
import type { Served } from '../servers/server.ts'

export const uses: readonly string[] = []

/** More than the warm-up of a quick run asks for, so that it goes wrong in a window. */
const RIGHT_ANSWERS = 1_300

export async function start(workload: string): Promise<Served> {
  let calls = 0
  const url = await listen(async (req, res) => {
    const call: Call = JSON.parse(Buffer.concat(await req.toArray()).toString())
    if (++calls > RIGHT_ANSWERS) call.id--
    res.setHeader('content-type', 'application/json')
    res.end(fixedAnswer(call, workload))
  })
  return { url, handshake: false }
}
