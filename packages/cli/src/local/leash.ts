// SPDX-License-Identifier: Apache-2.0
// Loaded first into the processes of a local mesh. Their supervisor holds the other end of a pipe; when it is gone, however
// it went, they end too. Killed with -9 it could not tell them.

import { Socket } from "node:net"

const PIPE = 3
const GRACE_MS = 10_000

const pipe = new Socket({ fd: PIPE, readable: true, writable: false })
pipe.on("error", () => undefined)
pipe.on("close", () => {
  process.kill(process.pid, "SIGTERM")
  setTimeout(() => process.kill(process.pid, "SIGKILL"), GRACE_MS).unref()
})
pipe.resume()
pipe.unref()
