// SPDX-License-Identifier: Apache-2.0
// One proxy's watch of its workload's view. It remembers what was sent until it is acknowledged, so that an
// acknowledged nonce maps to resources. INVARIANT: a deleted view is never sent as an empty one, since a proxy without
// policies allows everything: the last view stays until the stream ends. INVARIANT: a proxy that connects with other
// versions than ours is sent nothing before the cluster state was read again. Another replica may have sent it newer
// ones, and our copy may lag.

import { PROXY_RESOURCE } from "@merlon/xds"
import type { ClientNode, HeldVersions, Snapshot, VersionedResource } from "@merlon/xds/server"
import type { ProxyView } from "../snapshot/proxy-views.js"
import type { ProxySession } from "./connected-proxies.js"
import type { ViewPermit } from "./view-permit.js"

export interface ProxyWatchOptions {
  readonly names: "*" | ReadonlySet<string>
  /** Versions that the proxy reports to have from an earlier stream. */
  readonly held: HeldVersions
  readonly permit: Pick<ViewPermit, "node" | "current" | "isReplaced">
  /** The view when the watch was authorized: used until there is another. */
  readonly first: ProxyView
  readonly wake: (typeUrl: string) => void
  readonly session: ProxySession
  readonly host: ProxyWatchHost
}

export interface ProxyWatchHost {
  /** Called at the first complete acknowledgement. Returns a function to call when the watch has ended. */
  enforcing(node: ClientNode): (() => void) | undefined
  /** Calls back once the views contain everything stored at the time of the call. */
  readAgain(done: () => void): void
  closed(watch: ProxyWatch): void
}

type Resources = ReadonlyMap<string, VersionedResource>

/** A stream has one response in flight, seldom a second. Beyond this many, older views will never be acknowledged. */
const MAX_UNANSWERED = 16

export class ProxyWatch {
  readonly #permit: ProxyWatchOptions["permit"]
  readonly #wake: (typeUrl: string) => void
  readonly #session: ProxySession
  readonly #host: ProxyWatchHost
  /** Oldest first, without duplicates. */
  #unanswered: readonly Snapshot[] = []
  #names: "*" | ReadonlySet<string>
  #view: ProxyView | undefined
  #last: Snapshot
  #isHeldBack: boolean
  #enforcing = false
  #gone: (() => void) | undefined
  #closed = false

  constructor({ names, held, permit, first, wake, session, host }: ProxyWatchOptions) {
    this.#permit = permit
    this.#wake = wake
    this.#session = session
    this.#host = host
    this.#names = names
    this.#view = first
    this.#last = this.#show(first)
    this.#isHeldBack = isOther(held, first)
    if (this.#isHeldBack) host.readAgain(() => this.#release())
  }

  /** Key of the workload. */
  get key(): string {
    return this.#permit.node.id
  }

  rename(names: "*" | ReadonlySet<string>): void {
    this.#names = names
    this.#view = undefined
  }

  changed(): void {
    if (this.#permit.current() !== undefined) this.#wake(PROXY_RESOURCE)
  }

  /** INVARIANT: an acknowledgement by the proxy of an earlier Pod never counts for a new Pod of the same name. */
  podChanged(): void {
    if (this.#permit.isReplaced) this.#session.close()
  }

  /** Undefined until the view is known to be no older than what the proxy has. */
  snapshot(): Snapshot | undefined {
    if (this.#isHeldBack) return undefined
    const view = this.#permit.current()
    if (view !== undefined && view !== this.#view) {
      this.#view = view
      this.#last = this.#show(view)
    }
    this.#remember(this.#last)
    return this.#last
  }

  acknowledged(revision: number): void {
    const resources = this.#answered(revision)
    if (resources === undefined) return
    this.#session.acknowledged(resources)
    this.#markUnanswered()
    if (this.#enforcing || this.#names !== "*") return
    this.#enforcing = true
    this.#gone = this.#host.enforcing(this.#permit.node)
  }

  rejected(revision: number, message: string): void {
    const resources = this.#answered(revision)
    if (resources === undefined) return
    this.#session.rejected(revision, message, resources)
    this.#markUnanswered()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#unanswered = []
    this.#session.close()
    this.#host.closed(this)
    this.#gone?.()
  }

  #show({ revision, resources }: ProxyView): Snapshot {
    const names = this.#names
    if (names === "*") return { revision, resources }
    return { revision, resources: new Map([...resources].filter(([name]) => names.has(name))) }
  }

  #remember(shown: Snapshot): void {
    const others = this.#unanswered.filter(({ revision }) => revision !== shown.revision)
    this.#unanswered = [...others.slice(1 - MAX_UNANSWERED), shown]
    this.#session.sent(shown.resources)
  }

  /** The proxy may already enforce what was sent after the answered revision. */
  #markUnanswered(): void {
    for (const { resources } of this.#unanswered) this.#session.sent(resources)
  }

  #release(): void {
    this.#isHeldBack = false
    if (!this.#closed) this.#wake(PROXY_RESOURCE)
  }

  /** The resources of this revision. Answers arrive in order, so older revisions were skipped. */
  #answered(revision: number): Resources | undefined {
    const shown = this.#unanswered.find(other => other.revision === revision)
    this.#unanswered = this.#unanswered.filter(other => other.revision > revision)
    return shown?.resources
  }
}

/** A proxy that has nothing cannot receive anything older. */
function isOther(held: HeldVersions, { resources }: ProxyView): boolean {
  if (held.size === 0) return false
  if (held.size !== resources.size) return true
  for (const [name, { version }] of resources) if (held.get(name) !== version) return true
  return false
}
