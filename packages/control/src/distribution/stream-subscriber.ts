// SPDX-License-Identifier: Apache-2.0
// One stream's subscriptions, each forwarded to the provider of the type's resources.

import { PROXY_RESOURCE } from "@merlon/xds"
import type { Caller, ClientNode, HeldVersions, Snapshot, Subscriber } from "@merlon/xds/server"
import type { RouteWatch } from "./delegate.js"
import type { ProxyWatch } from "./proxy-watch.js"

type Names = "*" | ReadonlySet<string>

/** The stream's client, and how it is notified of changes. */
export interface StreamClient {
  readonly caller: Caller
  readonly node: ClientNode
  readonly wake: (typeUrl: string) => void
}

export interface Watches {
  proxy(client: StreamClient, names: Names, held: HeldVersions): ProxyWatch
  routes(client: StreamClient, typeUrl: string, names: Names): RouteWatch
}

const NOTHING: Snapshot = { revision: 0, resources: new Map() }
const NOTHING_HELD: HeldVersions = new Map()

export class StreamSubscriber implements Subscriber {
  readonly #watches: Watches
  readonly #client: StreamClient
  /** Created with the first route: most streams are of proxies that request none. */
  #routes: Map<string, RouteWatch> | undefined
  #proxy: ProxyWatch | undefined
  #closed = false

  constructor(watches: Watches, client: StreamClient) {
    this.#watches = watches
    this.#client = client
  }

  watch(typeUrl: string, names: Names, held = NOTHING_HELD): void {
    if (this.#closed) return
    if (typeUrl !== PROXY_RESOURCE) {
      this.#routes ??= new Map()
      const before = this.#routes.get(typeUrl)
      this.#routes.set(typeUrl, this.#watches.routes(this.#client, typeUrl, names))
      // Closed after the new one is open, so that what both name is not built again. A proxy adds one destination at a
      // time.
      before?.close()
    } else if (this.#proxy === undefined) this.#proxy = this.#watches.proxy(this.#client, names, held)
    else this.#proxy.rename(names)
  }

  snapshot(typeUrl: string): Snapshot | undefined {
    const watch = typeUrl === PROXY_RESOURCE ? this.#proxy : this.#routes?.get(typeUrl)
    return watch === undefined ? NOTHING : watch.snapshot()
  }

  acknowledged(typeUrl: string, revision: number): void {
    if (typeUrl === PROXY_RESOURCE) this.#proxy?.acknowledged(revision)
    else this.#routes?.get(typeUrl)?.acknowledged?.(revision)
  }

  rejected(typeUrl: string, revision: number, message: string): void {
    if (typeUrl === PROXY_RESOURCE) this.#proxy?.rejected(revision, message)
    else this.#routes?.get(typeUrl)?.rejected?.(revision, message)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#proxy?.close()
    for (const watch of this.#routes?.values() ?? []) watch.close()
    this.#routes = undefined
  }
}
