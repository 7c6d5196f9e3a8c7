// SPDX-License-Identifier: Apache-2.0
// A TCP relay that can silently stop: it forwards until it is frozen, then accepts everything and forwards nothing.

import { connect, createServer, type Socket } from "node:net"

export async function relayTo(port: number) {
  const sockets = new Set<Socket>()
  const frozen = { now: false }
  const forward = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.on("data", (chunk: Buffer) => void (frozen.now || to.write(chunk)))
    from.on("error", () => {})
    from.on("close", () => {
      sockets.delete(from)
      if (!frozen.now) to.destroy()
    })
  }
  const server = createServer(near => {
    const far = connect(port, "127.0.0.1")
    forward(near, far)
    forward(far, near)
  })
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    address: `127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    freeze(): void {
      frozen.now = true
    },
    thaw(): void {
      frozen.now = false
      for (const socket of sockets) socket.destroy()
    },
    close(): void {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
