// SPDX-License-Identifier: Apache-2.0
// One stream's watch of one type: the resources of its names, and whether they have changed since they were sent.

import type { Snapshot, VersionedResource } from "@merlon/xds/server"
import type { RouteWatch } from "../distribution/delegate.js"

/** A resource with at least one watch. */
export interface WatchedResource {
  readonly name: string
  readonly resource: VersionedResource | undefined
}

export interface WatchHooks<R extends WatchedResource> {
  /** Processes pending changes before resources are read. */
  settle(): void
  /** Greater than any revision before. */
  nextRevision(): number
  closed(watch: StreamWatch<R>): void
}

export class StreamWatch<R extends WatchedResource> implements RouteWatch {
  readonly wake: () => void
  readonly entries = new Set<R>()
  readonly #hooks: WatchHooks<R>
  #revision: number
  #snapshot: Snapshot | undefined

  constructor(wake: () => void, hooks: WatchHooks<R>) {
    this.wake = wake
    this.#hooks = hooks
    this.#revision = hooks.nextRevision()
  }

  snapshot(): Snapshot {
    this.#hooks.settle()
    this.#snapshot ??= { revision: this.#revision, resources: resourcesOf(this.entries) }
    return this.#snapshot
  }

  /** Call it when the resources of its names have changed. */
  touch(): void {
    this.#revision = this.#hooks.nextRevision()
    this.#snapshot = undefined
  }

  close(): void {
    this.#hooks.closed(this)
  }
}

function resourcesOf(entries: Iterable<WatchedResource>): ReadonlyMap<string, VersionedResource> {
  const resources = new Map<string, VersionedResource>()
  for (const { name, resource } of entries) if (resource !== undefined) resources.set(name, resource)
  return resources
}
