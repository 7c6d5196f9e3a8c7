// SPDX-License-Identifier: Apache-2.0
// Visits the shop from outside the mesh, in plaintext, once a second. After a failed visit it continues with the next
// one.

import { Agent, request } from "node:http"

const EVERY_MS = 1_000
/** Every third visit buys something. */
const PATHS = ["/", "/", "/buy"] as const

export function visit(target: URL): void {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let visits = 0
  const once = (): void => {
    const sent = request({
      agent,
      host: target.hostname,
      port: target.port,
      path: PATHS[visits++ % PATHS.length],
      headers: { host: "frontend.shop" },
      timeout: EVERY_MS,
    })
    sent.on("response", answer => answer.resume())
    sent.on("timeout", () => sent.destroy())
    sent.on("error", () => undefined)
    sent.end()
  }
  setInterval(once, EVERY_MS)
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(0))
}
