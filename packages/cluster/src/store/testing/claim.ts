// SPDX-License-Identifier: Apache-2.0
//
// Keeps an address for this process while nobody listens there yet: tests that run beside each other would else be given
// the same, one after the other. The mark is a UDP socket, since nothing here speaks UDP: all processes of the machine see
// it, it is in the way of no server, and it goes with the process.

import { createSocket } from "node:dgram"

/** Whether it is ours now; false where somebody has it, and where there is no such address. */
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
