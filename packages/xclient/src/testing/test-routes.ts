// SPDX-License-Identifier: Apache-2.0
// A known routes that a test fills as the control plane would, through encoded resources.

import {
  encodeHostRoutes,
  encodeOutboundPolicy,
  type HostRoutesSpec,
  OUTBOUND_POLICY,
  type OutboundPolicySpec,
  type TrustSpec,
} from "@merlon/xds"
import { EndpointHealth } from "../balance/endpoint-health.js"
import { KnownRoutes } from "../routes/known-routes.js"
import { OutboundPolicy } from "../routes/outbound-policy.js"

export class TestRoutes {
  readonly health = new EndpointHealth()
  readonly knownRoutes: KnownRoutes
  trust: TrustSpec | undefined
  /** How often other names were requested. */
  requests = 0
  now = 0
  #revision = 0

  /** Hosts without a description are reported as absent, unless configured otherwise. */
  constructor({ answersAbsent = true, limit = 1_000, followsPolicy = false } = {}) {
    this.knownRoutes = new KnownRoutes({
      health: this.health,
      limit,
      policy: followsPolicy ? new OutboundPolicy() : undefined,
      now: () => this.now,
      resubscribe: () => {
        this.requests += 1
        if (answersAbsent) queueMicrotask(() => void this.#sayAbsent())
      },
      onTrust: trust => {
        this.trust = trust
      },
    })
  }

  async set(name: string, spec: HostRoutesSpec): Promise<void> {
    this.knownRoutes.ask(name)
    await this.setBytes(name, encodeHostRoutes(spec))
  }

  setBytes(name: string, value: Uint8Array): Promise<void> {
    const revision = ++this.#revision
    const resources = [{ name, version: String(revision), value }]
    return this.knownRoutes.subscription.apply({ revision, resources, removed: [] })
  }

  setPolicy(spec: OutboundPolicySpec): Promise<void> {
    return this.setBytes(OUTBOUND_POLICY, encodeOutboundPolicy(spec))
  }

  remove(name: string): Promise<void> {
    return this.knownRoutes.subscription.apply({ revision: ++this.#revision, resources: [], removed: [name] })
  }

  async #sayAbsent(): Promise<void> {
    const known = this.knownRoutes.subscription.known()
    const names = this.knownRoutes.subscription.names()
    for (const name of names === "*" ? [] : names) {
      if (name !== OUTBOUND_POLICY && !known.has(name)) await this.remove(name)
    }
  }
}
