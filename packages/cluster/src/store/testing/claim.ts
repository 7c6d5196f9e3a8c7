// SPDX-License-Identifier: Apache-2.0
// Reserves an address for this process before it listens there: otherwise parallel tests could get the same one. The
// reservation is a UDP socket, since nothing here uses UDP: all processes of the machine see it, it does not block a TCP
// server, and it ends with the process.

import { createSocket } from "node:dgram"

/** Whether it is ours now; false if another process has it, or if there is no such address. */
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
