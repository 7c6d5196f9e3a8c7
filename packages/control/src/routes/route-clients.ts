// SPDX-License-Identifier: Apache-2.0
// Counts the clients that request the routes of a host and have acknowledged the current ones, as input of a
// MeshService's status. It sits between the streams and the routes and changes nothing.

import { HOST_ROUTES, ROUTE_CONFIGURATION } from "@merlon/xds"
import { Emitter } from "@merlon/xds/runtime"
import type { Snapshot } from "@merlon/xds/server"
import type { RouteClient, RouteResources, RouteWatch } from "../distribution/delegate.js"
import { Burst, type Scheduler } from "../snapshot/burst.js"
import type { ClientCount } from "../status/condition-inputs.js"
import type { MeshServiceClients } from "../status/status-inputs.js"
import { keyOf } from "./mesh-service-index.js"
import type { MeshRoutes } from "./route-resources.js"

export interface RouteClientsOptions {
  readonly routes: RouteResources & Pick<MeshRoutes, "meshServices" | "hostsNamed">
  readonly scheduler?: Scheduler
}

interface Subscriber {
  readonly client: string
  readonly namespace: string
  readonly hosts: ReadonlySet<string>
  readonly watch: RouteWatch
  acknowledged: number
  rejection: string | undefined
}

/** The types that define how requests are split; the other types follow from them. */
const SPLITTING: ReadonlySet<string> = new Set([HOST_ROUTES, ROUTE_CONFIGURATION])
const MOST_NAMED = 10

export class RouteClients implements RouteResources, MeshServiceClients {
  readonly #options: RouteClientsOptions
  readonly #byHost = new Map<string, Set<Subscriber>>()
  readonly #changed = new Set<string>()
  readonly #changes = new Emitter<[meshServices: ReadonlySet<string>]>()
  readonly #burst: Burst

  constructor(options: RouteClientsOptions) {
    this.#options = options
    this.#burst = new Burst(() => this.#notify(), options.scheduler)
  }

  serves(typeUrl: string): boolean {
    return this.#options.routes.serves(typeUrl)
  }

  watch(client: RouteClient, typeUrl: string, names: "*" | ReadonlySet<string>, wake: () => void): RouteWatch {
    const { routes } = this.#options
    if (names === "*" || !SPLITTING.has(typeUrl)) return routes.watch(client, typeUrl, names, wake)
    const watch = routes.watch(client, typeUrl, names, () => {
      this.#touch(subscriber)
      wake()
    })
    const subscriber: Subscriber = {
      client: client.node.id,
      namespace: client.caller.namespace,
      hosts: new Set([...names].flatMap(name => routes.hostsNamed(name, client.caller.namespace))),
      watch,
      acknowledged: 0,
      rejection: undefined,
    }
    this.#file(subscriber)
    return {
      snapshot: (): Snapshot => watch.snapshot(),
      acknowledged: revision => {
        watch.acknowledged?.(revision)
        subscriber.acknowledged = revision
        subscriber.rejection = undefined
        this.#touch(subscriber)
      },
      rejected: (revision, message) => {
        watch.rejected?.(revision, message)
        subscriber.rejection = message
        this.#touch(subscriber)
      },
      close: () => {
        watch.close()
        this.#remove(subscriber)
      },
    }
  }

  count(namespace: string, name: string): ClientCount {
    const key = keyOf({ namespace, name })
    const subscriber = new Set<Subscriber>()
    for (const [host, clients] of this.#byHost) {
      for (const client of clients) if (this.#governing(host, client) === key) subscriber.add(client)
    }
    const all = [...subscriber]
    const waiting = all.filter(({ watch, acknowledged }) => watch.snapshot().revision !== acknowledged)
    const rejecting = all.find(({ rejection }) => rejection !== undefined)
    return {
      clients: all.length,
      acknowledged: all.length - waiting.length,
      waiting: waiting.slice(0, MOST_NAMED).map(({ client }) => client),
      rejection: rejecting && { client: rejecting.client, message: rejecting.rejection ?? "" },
    }
  }

  onChange(listener: (meshServices: ReadonlySet<string>) => void): () => void {
    return this.#changes.on(listener)
  }

  close(): void {
    this.#burst.stop()
    this.#changes.clear()
  }

  #governing(host: string, { namespace }: Subscriber): string | undefined {
    const document = this.#options.routes.meshServices.governing(host, namespace)
    return document && keyOf(document.metadata)
  }

  #file(subscriber: Subscriber): void {
    for (const host of subscriber.hosts) {
      const clients = this.#byHost.get(host) ?? new Set()
      this.#byHost.set(host, clients.add(subscriber))
    }
    this.#touch(subscriber)
  }

  #remove(subscriber: Subscriber): void {
    for (const host of subscriber.hosts) {
      const clients = this.#byHost.get(host)
      clients?.delete(subscriber)
      if (clients?.size === 0) this.#byHost.delete(host)
    }
    this.#touch(subscriber)
  }

  #touch(subscriber: Subscriber): void {
    for (const host of subscriber.hosts) {
      const key = this.#governing(host, subscriber)
      if (key !== undefined) this.#changed.add(key)
    }
    if (this.#changed.size > 0) this.#burst.request()
  }

  #notify(): void {
    const changed = new Set(this.#changed)
    this.#changed.clear()
    this.#changes.emit(changed)
  }
}
