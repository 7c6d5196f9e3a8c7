// SPDX-License-Identifier: Apache-2.0
// What each stream may see, and what it says back. A workload's resources go to its own proxy; routes go to every member
// of the mesh. Who is connected and enforces what is kept in the ledger.

import {
  type Caller,
  type ClientNode,
  PROXY_RESOURCE,
  type Refusal,
  type ResourceSource,
  type Subscriber,
} from "@merlon/xds"
import type { ProxyView, ProxyViews } from "../snapshot/proxy-views.js"
import type { ConnectedProxies } from "./connected-proxies.js"
import type { RouteResources } from "./delegate.js"
import { Gatekeeper, type GatekeeperOptions } from "./gatekeeper.js"
import { ProxyWatch } from "./proxy-watch.js"
import { StreamSubscriber } from "./stream-subscriber.js"

/** Hears which proxies live, by their first acknowledgement and the end of their stream. */
export interface PresenceSink {
  /** Returns how to say that this stream has ended. */
  enforcing(key: string, node: ClientNode): () => void
}

export interface DistributionOptions extends GatekeeperOptions {
  readonly views: ProxyViews
  readonly proxies: ConnectedProxies
  readonly routes: RouteResources
  readonly presence?: PresenceSink
}

export class Distribution implements ResourceSource {
  readonly #options: DistributionOptions
  readonly #gatekeeper: Gatekeeper
  /** By workload key. */
  readonly #watches = new Map<string, Set<ProxyWatch>>()
  readonly #stop: () => void

  constructor(options: DistributionOptions) {
    this.#options = options
    this.#gatekeeper = new Gatekeeper(options)
    this.#stop = options.views.onChange(workloads => {
      for (const key of workloads) for (const watch of this.#watches.get(key) ?? []) watch.changed()
    })
  }

  open(caller: Caller, node: ClientNode, wake: (typeUrl: string) => void): Subscriber | Refusal {
    const refusal = this.#gatekeeper.refuseMember(caller)
    if (refusal !== undefined) return refusal
    return new StreamSubscriber({
      watchProxy: names => this.#watchProxy(caller, node, names, () => wake(PROXY_RESOURCE)),
      watchRoutes: (typeUrl, names) =>
        this.#options.routes.watch({ caller, node }, typeUrl, names, () => wake(typeUrl)),
    })
  }

  mayWatch(caller: Caller, node: ClientNode, typeUrl: string): Refusal | undefined {
    if (typeUrl === PROXY_RESOURCE) return this.#refuseView(caller, node)
    const refusal = this.#gatekeeper.refuseMember(caller)
    if (refusal !== undefined) return refusal
    if (this.#options.routes.serves(typeUrl)) return undefined
    return { code: "INVALID_ARGUMENT", message: "there are no resources of this type here; ask for another" }
  }

  /** Whether the caller may stay: to be asked again of those connected, now and then and when trust changes. */
  refuse(caller: Caller): Refusal | undefined {
    return this.#gatekeeper.refuseMember(caller) ?? this.#gatekeeper.refuseGone(caller)
  }

  /** Whether the caller may have another certificate. */
  refuseCertificate(caller: Caller): Refusal | undefined {
    return this.#gatekeeper.refuseIdentity(caller) ?? this.#gatekeeper.refuseRenewal(caller)
  }

  /** Whether what the caller says is said for the proxy of that node. */
  speaksFor(caller: Caller, nodeId: string): boolean {
    return this.#gatekeeper.refuseWorkload(caller, { id: nodeId, metadata: {}, peerAddress: "" }) === undefined
  }

  stop(): void {
    this.#stop()
  }

  #refuseView(caller: Caller, node: ClientNode): Refusal | undefined {
    const refusal = this.#gatekeeper.refuseWorkload(caller, node)
    if (refusal !== undefined) return refusal
    if (this.#options.views.get(node.id) !== undefined) return undefined
    return { code: "UNAVAILABLE", message: `the configuration of \`${node.id}\` is not known yet; ask again` }
  }

  #watchProxy(caller: Caller, node: ClientNode, names: "*" | ReadonlySet<string>, wake: () => void): ProxyWatch {
    const { views, proxies, presence, trust, directory } = this.#options
    let judged: { readonly trust: object; readonly workload: object | undefined; readonly mayHave: boolean } | undefined
    const current = (): ProxyView | undefined => {
      // Fail closed: a Pod of the same name may run under another identity by now, and a caller be revoked. Neither has
      // a claim on what is enforced from here on. What that depends on is replaced whole when it changes.
      const [by, workload] = [trust.current, directory.workloads.get(node.id)]
      if (judged?.trust !== by || judged.workload !== workload) {
        const mayHave = this.#gatekeeper.refuseWorkload(caller, node) === undefined
        judged = { trust: by, workload, mayHave }
      }
      return judged.mayHave ? views.get(node.id) : undefined
    }
    const first = current()
    // Fail closed: an empty view would admit everybody, so whoever may not watch gets an end instead.
    if (first === undefined) throw new Error(`\`${node.id}\` is watched by a caller that may not`)
    const key = node.id
    let gone: (() => void) | undefined
    const watch: ProxyWatch = new ProxyWatch({
      names,
      first,
      current,
      wake,
      session: proxies.connect(key, node.metadata.signer, node.metadata.version, node.metadata.certificateNotAfter),
      enforcing: () => {
        gone = presence?.enforcing(key, node)
      },
      closed: () => {
        const left = this.#watches.get(key)
        left?.delete(watch)
        if (left?.size === 0) this.#watches.delete(key)
        gone?.()
      },
    })
    const watches = this.#watches.get(key) ?? new Set()
    this.#watches.set(key, watches.add(watch))
    return watch
  }
}
