// SPDX-License-Identifier: Apache-2.0
// Loaded first into the processes of a local mesh. Their supervisor has the other end of a pipe; when it is gone, for
// whatever reason, they end too. A supervisor killed with -9 could not tell them.

import { Socket } from "node:net"
import { isMainThread } from "node:worker_threads"

const PIPE = 3
const GRACE_MS = 10_000

// Threads are given the same imports. One that held the pipe too would close it for the whole process when it ends, and no
// thread would start after it.
if (isMainThread) hold()

function hold(): void {
  const pipe = new Socket({ fd: PIPE, readable: true, writable: false })
  pipe.on("error", () => undefined)
  pipe.on("close", () => {
    process.kill(process.pid, "SIGTERM")
    setTimeout(() => process.kill(process.pid, "SIGKILL"), GRACE_MS).unref()
  })
  pipe.resume()
  pipe.unref()
}
