// SPDX-License-Identifier: Apache-2.0
// Resources in memory for tests, visible to all callers, by type and name. Records acknowledgements.

import type {
  Caller,
  ClientNode,
  Rejection,
  ResourceSource,
  Snapshot,
  Subscriber,
  VersionedResource,
} from "../source.js"

export interface Acknowledgement {
  readonly kind: "acknowledged" | "rejected"
  readonly typeUrl: string
  readonly revision: number
  readonly message?: string
}

export class MemorySource implements ResourceSource {
  readonly opened: { readonly caller: Caller; readonly node: ClientNode }[] = []
  readonly acknowledgements: Acknowledgement[] = []
  closed = 0
  rejection: Rejection | undefined
  readonly rejectedTypes = new Map<string, Rejection>()
  readonly #types = new Map<string, Map<string, VersionedResource>>()
  readonly #wakes = new Set<(typeUrl: string) => void>()
  #revision = 1

  /** Sets a resource; without a version, deletes it. */
  set(
    typeUrl: string,
    name: string,
    version: string | undefined,
    value: Uint8Array = Buffer.from(`${name}@${version}`),
  ) {
    const resources = this.#types.get(typeUrl) ?? new Map<string, VersionedResource>()
    this.#types.set(typeUrl, resources)
    if (version === undefined) resources.delete(name)
    else resources.set(name, { name, version, value })
    this.#revision += 1
    for (const wake of [...this.#wakes]) wake(typeUrl)
  }

  get revision(): number {
    return this.#revision
  }

  all(typeUrl: string): ReadonlyMap<string, VersionedResource> {
    return new Map(this.#types.get(typeUrl))
  }

  open(caller: Caller, node: ClientNode, wake: (typeUrl: string) => void): Subscriber | Rejection {
    if (this.rejection !== undefined) return this.rejection
    this.opened.push({ caller, node })
    return this.subscribe(wake)
  }

  mayWatch(_caller: Caller, _node: ClientNode, typeUrl: string): Rejection | undefined {
    return this.rejectedTypes.get(typeUrl)
  }

  subscribe(wake: (typeUrl: string) => void): Subscriber {
    const watched = new Map<string, "*" | ReadonlySet<string>>()
    this.#wakes.add(wake)
    return {
      watch: (typeUrl, names) => void watched.set(typeUrl, names),
      snapshot: (typeUrl): Snapshot => {
        const names = watched.get(typeUrl) ?? new Set<string>()
        const visible = [...this.all(typeUrl)].filter(([name]) => names === "*" || names.has(name))
        return { revision: this.#revision, resources: new Map(visible) }
      },
      acknowledged: (typeUrl, revision) => void this.acknowledgements.push({ kind: "acknowledged", typeUrl, revision }),
      rejected: (typeUrl, revision, message) =>
        void this.acknowledgements.push({ kind: "rejected", typeUrl, revision, message }),
      close: () => {
        this.#wakes.delete(wake)
        this.closed += 1
      },
    }
  }
}
