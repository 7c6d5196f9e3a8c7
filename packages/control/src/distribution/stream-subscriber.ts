// SPDX-License-Identifier: Apache-2.0
// One stream's subscriptions, each passed on to whoever has the type's resources.

import { PROXY_RESOURCE, type Snapshot, type Subscriber } from "@merlon/xds"
import type { RouteWatch } from "./delegate.js"
import type { ProxyWatch } from "./proxy-watch.js"

type Names = "*" | ReadonlySet<string>

export interface StreamSubscriberOptions {
  readonly watchProxy: (names: Names) => ProxyWatch
  readonly watchRoutes: (typeUrl: string, names: Names) => RouteWatch
}

const NOTHING: Snapshot = { revision: 0, resources: new Map() }

export class StreamSubscriber implements Subscriber {
  readonly #options: StreamSubscriberOptions
  readonly #routes = new Map<string, RouteWatch>()
  #proxy: ProxyWatch | undefined
  #closed = false

  constructor(options: StreamSubscriberOptions) {
    this.#options = options
  }

  watch(typeUrl: string, names: Names): void {
    if (this.#closed) return
    if (typeUrl !== PROXY_RESOURCE) {
      this.#routes.get(typeUrl)?.close()
      this.#routes.set(typeUrl, this.#options.watchRoutes(typeUrl, names))
    } else if (this.#proxy === undefined) this.#proxy = this.#options.watchProxy(names)
    else this.#proxy.rename(names)
  }

  snapshot(typeUrl: string): Snapshot {
    const watch = typeUrl === PROXY_RESOURCE ? this.#proxy : this.#routes.get(typeUrl)
    return watch?.snapshot() ?? NOTHING
  }

  acknowledged(typeUrl: string, revision: number): void {
    if (typeUrl === PROXY_RESOURCE) this.#proxy?.acknowledged(revision)
    else this.#routes.get(typeUrl)?.acknowledged?.(revision)
  }

  rejected(typeUrl: string, revision: number, message: string): void {
    if (typeUrl === PROXY_RESOURCE) this.#proxy?.rejected(revision, message)
    else this.#routes.get(typeUrl)?.rejected?.(revision, message)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#proxy?.close()
    for (const watch of this.#routes.values()) watch.close()
    this.#routes.clear()
  }
}
