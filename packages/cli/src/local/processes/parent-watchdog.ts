// SPDX-License-Identifier: Apache-2.0
// Loaded first into the processes of a local mesh. Their supervisor holds the other end of a pipe. When it is gone, for
// any reason, they end too: a supervisor killed with SIGKILL cannot stop them itself.

import { Socket } from "node:net"
import { isMainThread } from "node:worker_threads"

const PIPE = 3
const GRACE_MS = 10_000

// Threads load the same imports. A thread that also held the pipe would close it for the whole process when the thread
// ends, and no further thread would start.
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
