// SPDX-License-Identifier: Apache-2.0
// Decides what each stream may see, and records what it acknowledges. A workload's resources go only to its own proxy;
// routes go to every member of the mesh. The ledger records which proxies are connected and what each enforces.

import { PROXY_RESOURCE } from "@merlon/xds"
import type { Caller, ClientNode, HeldVersions, Rejection, ResourceSource, Subscriber } from "@merlon/xds/server"
import type { ProxyViews } from "../snapshot/proxy-views.js"
import type { ConnectedProxies } from "./connected-proxies.js"
import type { RouteResources } from "./delegate.js"
import { ProxyWatch, type ProxyWatchHost } from "./proxy-watch.js"
import { StreamAuthorizer, type StreamAuthorizerOptions } from "./stream-authorizer.js"
import { type StreamClient, StreamSubscriber, type Watches } from "./stream-subscriber.js"
import { ViewPermit, type ViewPermitOptions } from "./view-permit.js"

/** Is told which proxies are present: from their first acknowledgement to the end of their stream. */
export interface PresenceSink {
  /** Returns a function to call when this stream has ended. */
  enforcing(key: string, node: ClientNode): () => void
}

export interface DistributionOptions extends StreamAuthorizerOptions {
  readonly views: ProxyViews
  readonly proxies: ConnectedProxies
  readonly routes: RouteResources
  readonly presence?: PresenceSink
  /** Resolves once the views contain everything stored at the time of the call. */
  readonly readAgain: () => Promise<void>
}

export class Distribution implements ResourceSource {
  readonly #options: DistributionOptions
  readonly #authorizer: StreamAuthorizer
  /** By workload key. */
  readonly #watches = new Map<string, readonly ProxyWatch[]>()
  readonly #stops: readonly (() => void)[]
  readonly #permitOptions: ViewPermitOptions
  // One object for all streams, of which there are thousands.
  readonly #sources: Watches = {
    proxy: (client, names, held) => this.#watchProxy(client, names, held),
    routes: ({ caller, node, wake }, typeUrl, names) =>
      this.#options.routes.watch({ caller, node }, typeUrl, names, () => wake(typeUrl)),
  }
  readonly #host: ProxyWatchHost = {
    enforcing: node => this.#options.presence?.enforcing(node.id, node),
    readAgain: done => void this.#readAgain(done),
    closed: watch => this.#forget(watch),
  }

  constructor(options: DistributionOptions) {
    this.#options = options
    this.#authorizer = new StreamAuthorizer(options)
    this.#permitOptions = { authorizer: this.#authorizer, trust: options.trust, views: options.views }
    this.#stops = [
      options.views.onChange(workloads => {
        for (const key of workloads) for (const watch of this.#watches.get(key) ?? []) watch.changed()
      }),
      options.directory.onChange(({ workloads }) => {
        for (const key of workloads) for (const watch of this.#watches.get(key) ?? []) watch.podChanged()
      }),
    ]
  }

  open(caller: Caller, node: ClientNode, wake: (typeUrl: string) => void): Subscriber | Rejection {
    const rejection = this.#authorizer.rejectMember(caller)
    if (rejection !== undefined) return rejection
    return new StreamSubscriber(this.#sources, { caller, node, wake })
  }

  mayWatch(caller: Caller, node: ClientNode, typeUrl: string): Rejection | undefined {
    if (typeUrl === PROXY_RESOURCE) return this.#rejectView(caller, node)
    const rejection = this.#authorizer.rejectMember(caller)
    if (rejection !== undefined) return rejection
    if (this.#options.routes.serves(typeUrl)) return undefined
    return { code: "INVALID_ARGUMENT", message: "this server has no resources of this type" }
  }

  /** Whether the caller may stay connected: checked again from time to time, and when trust changes. */
  reject(caller: Caller): Rejection | undefined {
    return this.#authorizer.rejectMember(caller) ?? this.#authorizer.rejectGone(caller)
  }

  /** Whether the caller may have another certificate. */
  rejectCertificate(caller: Caller): Rejection | undefined {
    return this.#authorizer.rejectIdentity(caller) ?? this.#authorizer.rejectRenewal(caller)
  }

  /** Whether the caller may report for the proxy of that node. */
  mayReportFor(caller: Caller, nodeId: string): boolean {
    return this.#authorizer.rejectWorkload(caller, { id: nodeId, metadata: {}, peerAddress: "" }) === undefined
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }

  #rejectView(caller: Caller, node: ClientNode): Rejection | undefined {
    const rejection = this.#authorizer.rejectWorkload(caller, node)
    if (rejection !== undefined) return rejection
    if (this.#options.views.get(node.id) !== undefined) return undefined
    return { code: "UNAVAILABLE", message: `the configuration of \`${node.id}\` is not known yet; retry` }
  }

  #watchProxy({ caller, node, wake }: StreamClient, names: "*" | ReadonlySet<string>, held: HeldVersions): ProxyWatch {
    const permit = new ViewPermit(this.#permitOptions, caller, node)
    const first = permit.current()
    // Fail closed: an empty view would allow every caller, so a watch without permission ends instead.
    if (first === undefined) throw new Error(`\`${node.id}\` is watched by a caller without permission`)
    const session = this.#options.proxies.connect(node.id, node.metadata, caller.podUid)
    const watch = new ProxyWatch({ names, held, permit, first, wake, session, host: this.#host })
    this.#watches.set(node.id, [...(this.#watches.get(node.id) ?? []), watch])
    return watch
  }

  async #readAgain(done: () => void): Promise<void> {
    await this.#options.readAgain()
    done()
  }

  #forget(watch: ProxyWatch): void {
    const left = (this.#watches.get(watch.key) ?? []).filter(other => other !== watch)
    if (left.length === 0) this.#watches.delete(watch.key)
    else this.#watches.set(watch.key, left)
  }
}
