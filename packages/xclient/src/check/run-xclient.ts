// SPDX-License-Identifier: Apache-2.0
// Runs the check tool: joins the mesh, does what was requested, leaves, and returns the exit code.

import type { Bootstrap } from "@merlon/xds/member"
import type { Log } from "@merlon/xds/runtime"
import { MAX_TRIES } from "../call/outbound.js"
import { MeshMember } from "../member/mesh-member.js"
import { CONNECT_TIMEOUT_MS } from "../member/workload-calls.js"
import { authorityOf } from "../routes/authority.js"
import { type CheckIo, type CheckOptions, checkRoutes } from "./check-routes.js"

export interface XclientOptions extends CheckOptions {
  readonly bootstrap: Bootstrap
  readonly log: Log
}

/** The longest delay of a Node timer. */
const LONGEST_MS = 2_147_483_647

/** Resolves to the exit code. */
export async function runXclient(options: XclientOptions, io: CheckIo): Promise<number> {
  const { bootstrap, log, waitTimeoutMs, requestTimeoutMs, target, action } = options
  // A longer request timeout also covers its connection, with a share for each endpoint that may be tried.
  const connectTimeoutMs = Math.max(CONNECT_TIMEOUT_MS, requestTimeoutMs / MAX_TRIES)
  const member = new MeshMember({ bootstrap, log, connectTimeoutMs })
  try {
    const deadline = Date.now() + waitTimeoutMs
    const name = authorityOf(target.host, target.port)
    member.knownRoutes.ask(name)
    // A watch waits as long as necessary; every other action has a time limit.
    const started = await within(member.start(), action === "watch" ? undefined : waitTimeoutMs, io.signal)
    if (!started) {
      if (io.signal.aborted) return action === "watch" ? 0 : 1
      io.err(`route not found for ${name} from ADS stream`)
      io.err(member.problem ?? "cannot get a certificate")
      return 1
    }
    return await checkRoutes({ ...options, waitTimeoutMs: Math.max(deadline - Date.now(), 0) }, member, io)
  } finally {
    member.close()
  }
}

function within(work: Promise<void>, milliseconds: number | undefined, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const give = (result: boolean) => {
      clearTimeout(timer)
      signal.removeEventListener("abort", onAbort)
      resolve(result)
    }
    const onAbort = () => give(false)
    // There is always a timer: nothing else keeps the process alive while the control plane is down.
    const timer = setTimeout(() => give(false), milliseconds ?? LONGEST_MS)
    signal.addEventListener("abort", onAbort, { once: true })
    // A signal that was aborted before this listener was added does not fire again.
    if (signal.aborted) onAbort()
    work.then(() => give(true), reject)
  })
}
