// SPDX-License-Identifier: Apache-2.0
// Detects the protocol from a program's first bytes. In some protocols the server speaks first, so after a short
// silence the connection is carried as bytes.

import type { Socket } from "node:net"
import { detectHttp } from "@merlon/wire/http"
import { CallFailure } from "../call/call-failure.js"

export interface FirstBytes {
  readonly protocol: "http1" | "http2" | "tcp"
  readonly head: Buffer
}

/** The socket is paused before and after. Rejects if it closes. */
export function readFirstBytes(socket: Socket, waitMs: number): Promise<FirstBytes> {
  return new Promise((resolve, reject) => {
    let head: Buffer = Buffer.alloc(0)
    const finish = (protocol: FirstBytes["protocol"]): void => {
      stop()
      resolve({ protocol, head })
    }
    const look = (ended: boolean): void => {
      const looks = detectHttp(head, ended)
      if (looks !== "more") finish(looks)
      else if (ended) finish("tcp")
    }
    const onData = (chunk: Buffer): void => {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk])
      look(false)
    }
    const onEnd = (): void => look(true)
    const onClose = (): void => {
      stop()
      reject(new CallFailure("cut-off", "the program closed the connection"))
    }
    // After a pause of the process, timers run before bytes that arrived long ago are read, so those are read first.
    let last: NodeJS.Immediate | undefined
    const timer = setTimeout(() => {
      last = setImmediate(() => finish("tcp"))
    }, waitMs)
    const stop = (): void => {
      clearTimeout(timer)
      clearImmediate(last)
      socket.pause()
      socket.off("data", onData).off("end", onEnd).off("close", onClose)
    }
    socket.on("data", onData).on("end", onEnd).on("close", onClose)
    socket.resume()
  })
}
