// SPDX-License-Identifier: Apache-2.0
// One HTTP GET to a process of the mesh. Without a response, the process does not run, or not yet. The timeout allows
// for a busy machine.

import { type Agent, get } from "node:http"

export interface Answer {
  readonly status: number
  readonly body: string
}

const MAX_BODY = 64 << 20
const TIMEOUT_MS = 10_000

/** Uses a new connection, or a keep-alive connection of the agent. */
export function httpGet(
  address: string,
  port: number,
  path: string,
  agent: Agent | false = false,
): Promise<Answer | undefined> {
  return new Promise(resolve => {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const asked = get({ host: address, port, path, agent, signal }, response => {
      let body = ""
      response.setEncoding("utf8")
      response.on("data", (piece: string) => {
        body += piece
        if (body.length > MAX_BODY) response.destroy()
      })
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }))
      response.on("error", () => resolve(undefined))
    })
    asked.on("error", () => resolve(undefined))
    asked.on("close", () => resolve(undefined))
  })
}
