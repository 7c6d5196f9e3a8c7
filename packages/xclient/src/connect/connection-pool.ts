// SPDX-License-Identifier: Apache-2.0
// Connections that are kept for further requests, by everything that made them what they are: the endpoint, how it is
// spoken to, who may answer, our credentials and our trust. A change of any of these leads to other connections.

import { createHash } from "node:crypto"
import type { ServiceEndpoint } from "@merlon/xds"
import { EndpointAgent } from "./endpoint-agent.js"
import type { Material } from "./material.js"
import type { TransportPlan } from "./transport-plan.js"

/** An agent nobody has used for so long is let go. */
const FORGET_MS = 60_000

export interface PoolOptions {
  readonly alpn: readonly string[]
  readonly connectTimeoutMs: number
  readonly now?: () => number
}

export class ConnectionPool {
  readonly #options: PoolOptions
  readonly #now: () => number
  readonly #agents = new Map<string, EndpointAgent>()
  #material: number | undefined
  #swept = 0

  constructor(options: PoolOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  agentFor(endpoint: ServiceEndpoint, plan: TransportPlan, material: Material): EndpointAgent {
    if (material.id !== this.#material) this.#retireAll()
    this.#material = material.id
    this.#sweep()
    const key = connectionKey(endpoint, plan)
    let agent = this.#agents.get(key)
    if (agent === undefined) {
      const { alpn, connectTimeoutMs: timeoutMs } = this.#options
      agent = new EndpointAgent({ endpoint, plan, material, alpn, timeoutMs, now: this.#now })
      this.#agents.set(key, agent)
    }
    agent.lastUsed = this.#now()
    return agent
  }

  /** Ends what is idle; what is under way may finish. */
  close(): void {
    this.#retireAll()
  }

  #retireAll(): void {
    for (const agent of this.#agents.values()) agent.retire()
    this.#agents.clear()
  }

  #sweep(): void {
    const now = this.#now()
    if (now - this.#swept < FORGET_MS) return
    this.#swept = now
    for (const [key, agent] of this.#agents) {
      if (!agent.isIdle || now - agent.lastUsed < FORGET_MS) continue
      agent.retire()
      this.#agents.delete(key)
    }
  }
}

/** Tells apart connections that may not stand for each other. */
export function connectionKey({ address, otherAddresses = [], port }: ServiceEndpoint, plan: TransportPlan): string {
  const where = [address, ...otherAddresses, port].join(" ")
  if (plan.kind === "plaintext") return `plaintext ${where}`
  const expected = createHash("sha256")
    .update(JSON.stringify([plan.sni, plan.identities]))
    .digest("base64")
  return `mutual ${where} ${expected}`
}
