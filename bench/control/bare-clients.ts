// SPDX-License-Identifier: Apache-2.0
// Many connections in one process: each answers every message with a given number of bytes. Reports when all are
// connected, and each time that all have received a message.

import { once } from "node:events"
import { connect } from "node:tls"
import { SERVER_NAME } from "../../packages/xds/src/testing/test-authority.js"
import { ANSWER_BYTES, type BareClientsOrder, PUSH_BYTES } from "./bare-messages.js"

let all = 0
let left = 0
const answer = "a".repeat(ANSWER_BYTES)

process.on("message", (order: BareClientsOrder) => void open(order))
process.on("disconnect", () => process.exit(0))

async function open({ port, chain, privateKey, bundle, connections }: BareClientsOrder): Promise<void> {
  for (let i = 0; i < connections; i++) {
    const socket = connect({
      port,
      host: "127.0.0.1",
      servername: SERVER_NAME,
      cert: chain,
      key: privateKey,
      ca: bundle,
    })
    let missing = PUSH_BYTES
    socket.on("data", bytes => {
      missing -= bytes.length
      if (missing > 0) return
      missing += PUSH_BYTES
      socket.write(answer, "latin1")
      if (--left > 0) return
      left = all
      process.send?.("told")
    })
    await once(socket, "secureConnect")
  }
  all += connections
  left = all
  process.send?.("connected")
}
