// SPDX-License-Identifier: Apache-2.0
// Reserves an address for this process before it listens there, so that parallel tests do not get the same one. The
// reservation is a UDP socket, because nothing here uses UDP: all processes of the machine see it, it does not block a
// TCP server, and it ends with the process.

import { createSocket } from "node:dgram"

/** Reserves the address. Returns false if another process has it, or if the address does not exist. */
export function claim(host: string, port: number): Promise<boolean> {
  const mark = createSocket("udp4")
  return new Promise(resolve => {
    mark.once("error", () => {
      mark.close()
      resolve(false)
    })
    mark.bind({ address: host, port, exclusive: true }, () => {
      mark.unref()
      resolve(true)
    })
  })
}
