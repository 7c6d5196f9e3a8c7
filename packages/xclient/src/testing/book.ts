// SPDX-License-Identifier: Apache-2.0
// A route book that a test fills as the control plane would, through the bytes of the wire.

import { encodeHostRoutes, type HostRoutesSpec, type TrustSpec } from "@merlon/xds"
import { EndpointHealth } from "../balance/endpoint-health.js"
import { RouteBook } from "../routes/route-book.js"

export class TestBook {
  readonly health = new EndpointHealth()
  readonly book: RouteBook
  trust: TrustSpec | undefined
  #revision = 0

  /** Hosts that nobody described are answered as absent when they are asked for, unless told otherwise. */
  constructor({ answersAbsent = true, limit = 1_000 } = {}) {
    this.book = new RouteBook({
      health: this.health,
      limit,
      resubscribe: () => {
        if (answersAbsent) queueMicrotask(() => void this.#sayAbsent())
      },
      onTrust: trust => {
        this.trust = trust
      },
    })
  }

  async set(name: string, spec: HostRoutesSpec): Promise<void> {
    this.book.ask(name)
    await this.setBytes(name, encodeHostRoutes(spec))
  }

  setBytes(name: string, value: Uint8Array): Promise<void> {
    const revision = ++this.#revision
    const resources = [{ name, version: String(revision), value }]
    return this.book.subscription.apply({ revision, resources, removed: [] })
  }

  remove(name: string): Promise<void> {
    return this.book.subscription.apply({ revision: ++this.#revision, resources: [], removed: [name] })
  }

  async #sayAbsent(): Promise<void> {
    const known = this.book.subscription.known()
    const names = this.book.subscription.names()
    for (const name of names === "*" ? [] : names) if (!known.has(name)) await this.remove(name)
  }
}
