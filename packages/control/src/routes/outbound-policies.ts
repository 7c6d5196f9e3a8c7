// SPDX-License-Identifier: Apache-2.0
// The outbound policy of each namespace as a resource. Nearly all namespaces share one of two policies, so thousands of
// proxies need the memory of two. Nothing is computed before the first proxy requests it.

import { encodeOutboundPolicy, OUTBOUND_POLICY } from "@merlon/xds"
import type { VersionedResource } from "@merlon/xds/server"
import { MtlsAddresses, type MtlsContext } from "./mtls-addresses.js"
import type { OutboundModes } from "./outbound-modes.js"
import { contentVersioned } from "./versioned.js"

export class OutboundPolicies {
  readonly #context: MtlsContext
  readonly #modes: Pick<OutboundModes, "modeOf">
  readonly #touched = { workloads: new Set<string>(), hosts: new Set<string>() }
  /** By mode, and by namespace if it has requirements of its own. */
  readonly #made = new Map<string, VersionedResource>()
  #addresses: MtlsAddresses | undefined

  constructor(context: MtlsContext, modes: Pick<OutboundModes, "modeOf">) {
    this.#context = context
    this.#modes = modes
  }

  touch(workloads: Iterable<string>, hosts: Iterable<string>): void {
    if (this.#addresses === undefined) return
    for (const key of workloads) this.#touched.workloads.add(key)
    for (const host of hosts) this.#touched.hosts.add(host)
  }

  /** Call it when the mTLS modes of a namespace, or of all, changed. */
  touchNamespace(namespace: string | undefined): void {
    const { directory } = this.#context
    const services = [...directory.services.values()].filter(each => (namespace ?? each.namespace) === each.namespace)
    const workloads = [...directory.select({}, namespace)].map(({ key }) => key)
    this.touch(
      workloads,
      services.map(({ host }) => host),
    )
  }

  /** Processes the pending changes; returns whether any policy may have changed. */
  settle(): boolean {
    const { workloads, hosts } = this.#touched
    if (workloads.size === 0 && hosts.size === 0) return false
    const changed = this.#addresses?.update(workloads, hosts) ?? false
    workloads.clear()
    hosts.clear()
    if (changed) this.#made.clear()
    return changed
  }

  make(namespace: string): VersionedResource {
    this.#addresses ??= new MtlsAddresses(this.#context)
    const mode = this.#modes.modeOf(namespace)
    const key = this.#addresses.guests.has(namespace) ? `${mode} ${namespace}` : mode
    const made =
      this.#made.get(key) ??
      contentVersioned(OUTBOUND_POLICY, encodeOutboundPolicy({ mode, mtls: this.#addresses.blocksFor(namespace) }))
    this.#made.set(key, made)
    return made
  }
}
