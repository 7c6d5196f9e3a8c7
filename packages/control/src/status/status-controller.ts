// SPDX-License-Identifier: Apache-2.0
// Maintains the status of every kind except PolicyInvariant. A change is traced to the few resources it can affect, and
// their status is computed when it is written. Nothing is written before everything stored has been read.

import { isDeepStrictEqual } from "node:util"
import type { Kind, Status } from "@merlon/policy/resources"
import type { KubernetesClient } from "../kubernetes/client.js"
import { type KubernetesObject, policyTypes } from "../kubernetes/resource-type.js"
import { type Clock, systemClock } from "../observe/clock.js"
import { changesMeaning, isSecurityKind, type PolicyChange, type PolicySource } from "../policies/stored-policy.js"
import type { DirectoryChange } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { scopeOf } from "../routes/route-context.js"
import type { EnforcementTally } from "./enforcement.js"
import type { EventSink } from "./events.js"
import { entryOf, PolicyEntries, type PolicyEntry } from "./policy-entry.js"
import { makeStatus, mayServe, type StatusSources, tallyNow } from "./status-maker.js"
import { StatusWriter } from "./status-writer.js"
import { eventsBetween } from "./transitions.js"

export interface StatusControllerOptions extends StatusSources {
  readonly client: KubernetesClient
  readonly policies: PolicySource
  /** Resolves once policies, registry and views contain everything stored. */
  readonly ready: Promise<unknown>
  readonly isLeader: () => boolean
  readonly events: EventSink
  readonly warn: (message: string) => void
  /** Called after each written status. */
  readonly wrote?: (kind: Kind) => void
  readonly clock?: Clock
  /** How long proxies may take to reconnect after a restart before their absence counts. */
  readonly settleMs?: number
}

const SETTLE = 10_000
/** Nearest labels and refresh times of keys are worth a write from time to time, not on every change. */
const COSMETIC_DELAY = 2_000
const REFRESH_INTERVAL = 5 * 60_000
const POLICY = "policy/"

export class StatusController {
  readonly #options: StatusControllerOptions
  readonly #clock: Clock
  readonly #entries = new PolicyEntries()
  readonly #writer: StatusWriter
  readonly #stops: (() => void)[]
  /** By workload: its Pod, and whether it has a proxy, has started and can be bypassed. */
  readonly #standings = new Map<string, string>()
  readonly #troubled = new Map<string, { readonly error: boolean; readonly at: number }>()
  readonly #cosmetic = new Set<string>()
  #cancelCosmetic: (() => void) | undefined
  #cancelSettled: (() => void) | undefined
  #ready = false
  #settledAt = Number.POSITIVE_INFINITY

  constructor(options: StatusControllerOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    const { isLeader, warn, policies, directory, ledger, keySets, reach, clients } = options
    this.#writer = new StatusWriter({ write: key => this.#write(key), isLeader, warn, clock: this.#clock })
    this.#stops = [
      policies.onChange(change => this.#documentChanged(change)),
      directory.onChange(change => this.#directoryChanged(change)),
      ledger.onChange(proxies => this.#proxiesChanged(proxies)),
      keySets.onChange((id, { jwks }) => this.#keysChanged(id, jwks)),
      reach.onSelectionChange(policies => this.#recount(policies)),
      clients?.onChange(keys => this.#clientsChanged(keys)) ?? (() => undefined),
      options.members.onChange(namespace => this.#membersChanged(namespace)),
    ]
    for (const after of policies.items.values()) this.#documentChanged({ before: undefined, after })
    for (const [key, workload] of directory.workloads) this.#standings.set(key, standingOf(workload))
    options.ready.then(
      () => {
        this.#ready = true
        this.#startOver()
      },
      // The other user of the same promise reports the error; without the result we would write a wrong status.
      () => undefined,
    )
  }

  leadershipChanged(leader: boolean): void {
    if (leader) this.#startOver()
    else this.#writer.leadershipLost()
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop()
    this.#cancelCosmetic?.()
    this.#cancelSettled?.()
    this.#writer.stop()
  }

  #startOver(): void {
    if (!this.#ready) return
    const settle = this.#options.settleMs ?? SETTLE
    this.#settledAt = this.#clock.monotonic() + settle
    this.#cancelSettled?.()
    this.#cancelSettled = this.#clock.after(settle, () => this.#changedAll())
    for (const entry of this.#entries.all) entry.written = undefined
    this.#changedAll()
  }

  #changedAll(): void {
    for (const entry of this.#entries.all) this.#changed(entry)
  }

  /** Schedules the status to be counted again and written. */
  #changed(entry: PolicyEntry): void {
    entry.tally = undefined
    if (this.#ready) this.#writer.changed(entry.key)
  }

  #recount(keys: ReadonlySet<string>): void {
    for (const key of keys) {
      const entry = this.#entries.get(key)
      if (entry !== undefined) this.#changed(entry)
    }
  }

  #documentChanged(change: PolicyChange): void {
    const { before, after } = change
    // Its status says whether it holds, which another component determines.
    if ((after ?? before)?.kind === "PolicyInvariant") return
    const known = this.#entries.get((after ?? before)?.key ?? "")
    if (after === undefined || after.deleted !== undefined) {
      if (known === undefined) return
      this.#entries.delete(known.key)
      this.#writer.forget(known.key)
      this.#neighboursChanged(known)
      return
    }
    if (known !== undefined && !changesMeaning(change)) {
      const { object } = after
      known.object = object
      const echo = known.written
      known.written = undefined
      // Another client changed the status: restore ours.
      if (echo === undefined || !sameStatus(echo, object.status as Status | undefined)) this.#changed(known)
      return
    }
    const entry = entryOf(after, scopeOf(this.#options))
    this.#entries.set(entry)
    this.#changed(entry)
    // Documents affected by the previous version, and by the current one.
    if (known !== undefined) this.#neighboursChanged(known)
    this.#neighboursChanged(entry)
  }

  /** The oldest PeerAuthentication of a scope, or MeshService of a host, concerns all others of it. */
  #neighboursChanged({ kind, namespace, governs }: PolicyEntry): void {
    for (const other of this.#entries.governing(governs)) this.#changed(other)
    if (kind !== "PeerAuthentication") return
    for (const other of this.#entries.inNamespace(namespace)) if (other.kind === kind) this.#changed(other)
  }

  #directoryChanged({ workloads, services }: DirectoryChange): void {
    if (services.size > 0) {
      for (const entry of this.#entries.namingHosts) if (intersects(entry.hosts, services)) this.#changed(entry)
    }
    const { directory, mesh } = this.#options
    const touched = new Set<string>()
    const flipped: string[] = []
    for (const key of workloads) {
      const workload = directory.workloads.get(key)
      const now = workload && standingOf(workload)
      const before = this.#standings.get(key)
      if (now === undefined) this.#standings.delete(key)
      else this.#standings.set(key, now)
      if (before === undefined || now === undefined || before === now) {
        touched.add(key.slice(0, key.indexOf("/"))).add(mesh.names.rootNamespace)
      } else flipped.push(key)
    }
    // The selected workloads are the same, but which of them enforce the policy has changed.
    for (const key of flipped) {
      for (const namespace of new Set([key.slice(0, key.indexOf("/")), mesh.names.rootNamespace])) {
        for (const entry of this.#entries.inNamespace(namespace))
          if (this.#selects(entry, key)) this.#replaced(entry, key)
      }
    }
    for (const namespace of touched) {
      for (const entry of this.#entries.inNamespace(namespace)) {
        if (this.#selectsNothing(entry)) this.#cosmetic.add(entry.key)
      }
    }
    if (this.#cosmetic.size > 0) this.#cancelCosmetic ??= this.#clock.after(COSMETIC_DELAY, () => this.#flushCosmetic())
  }

  #membersChanged(namespace: string): void {
    for (const place of new Set([namespace, this.#options.mesh.names.rootNamespace])) {
      for (const entry of this.#entries.inNamespace(place)) this.#changed(entry)
    }
  }

  #selects({ kind, namespace, name }: PolicyEntry, workload: string): boolean {
    return isSecurityKind(kind) && this.#options.reach.selectedBy(kind, namespace, name).has(workload)
  }

  /** A selected workload may start or stop counting; all others count as before. */
  #replaced(entry: PolicyEntry, workload: string): void {
    entry.tally?.place(workload, this.#counts(workload))
    if (this.#ready) this.#writer.changed(entry.key)
  }

  #selectsNothing({ kind, namespace, name }: PolicyEntry): boolean {
    return isSecurityKind(kind) && this.#options.reach.selectedBy(kind, namespace, name).size === 0
  }

  #flushCosmetic(): void {
    this.#cancelCosmetic = undefined
    const keys = new Set(this.#cosmetic)
    this.#cosmetic.clear()
    this.#recount(keys)
  }

  /** A proxy's report only affects the policies that it was sent. */
  #proxiesChanged(proxies: ReadonlySet<string>): void {
    if (!this.#ready) return
    const recounted = new Set<PolicyEntry>()
    // Thousands of proxies are sent the same few names.
    const entries = new Map<string, PolicyEntry | undefined>()
    for (const proxy of proxies) {
      const counts = this.#counts(proxy)
      for (const name of this.#options.reach.get(proxy)?.resources.keys() ?? []) {
        if (!entries.has(name)) entries.set(name, this.#entryOf(name))
        const entry = entries.get(name)
        if (entry === undefined) continue
        // Counted here and not when it is written, so that the last missing acknowledgement is noticed.
        if (entry.tally === undefined) {
          entry.tally = tallyNow(entry, this.#options)
          recounted.add(entry)
        } else if (this.#recountOne(entry, entry.tally, proxy, counts)) recounted.add(entry)
      }
    }
    for (const entry of recounted) this.#counted(entry, entry.tally?.complete === true)
  }

  /** The entry of a resource by its name on the wire. */
  #entryOf(name: string): PolicyEntry | undefined {
    return name.startsWith(POLICY) ? this.#entries.get(name.slice(POLICY.length)) : undefined
  }

  /** Returns whether the status may change. */
  #recountOne(entry: PolicyEntry, tally: EnforcementTally, proxy: string, counts: boolean): boolean {
    if (!counts) return tally.place(proxy, false)
    return tally.update(proxy) ?? (this.#selects(entry, proxy) && tally.place(proxy, true))
  }

  #counts(proxy: string): boolean {
    const workload = this.#options.directory.workloads.get(proxy)
    return workload?.proxied === true && mayServe(workload, this.#options.ledger)
  }

  #clientsChanged(keys: ReadonlySet<string>): void {
    if (!this.#ready) return
    for (const key of keys) {
      const entry = this.#entries.get(`MeshService/${key}`)
      if (entry === undefined) continue
      const { clients = 0, acknowledged = 0 } = this.#options.clients?.count(entry.namespace, entry.name) ?? {}
      this.#counted(entry, clients === acknowledged)
    }
  }

  /** Only completion is urgent, since users wait for it; one more of many proxies is not. */
  #counted(entry: PolicyEntry, complete: boolean): void {
    if (!complete) {
      this.#writer.changed(entry.key)
      return
    }
    const status = entry.written ?? readStatus(entry.object.status)
    const enforced = status?.conditions?.find(({ type }) => type === "Enforced")
    const isSaid = enforced?.status === "True" && enforced.observedGeneration === entry.object.metadata.generation
    this.#writer.changed(entry.key, !isSaid)
  }

  #keysChanged(id: string, jwks: boolean): void {
    const state = this.#options.keySets.get(id)
    if (state === undefined) {
      this.#troubled.delete(id)
      return
    }
    const before = this.#troubled.get(id)
    const error = state.error !== undefined
    const at = this.#clock.monotonic()
    const worthWriting = jwks || before?.error !== error || at - before.at >= REFRESH_INTERVAL
    if (!worthWriting) return
    this.#troubled.set(id, { error, at })
    for (const entry of this.#entries.withKeySet(id)) this.#changed(entry)
  }

  async #write(key: string): Promise<boolean> {
    const { client, mesh, wrote, events } = this.#options
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    const { kind, name, namespace, object } = entry
    const previous = entry.written ?? readStatus(object.status)
    const next = makeStatus(entry, this.#entries, this.#options, this.#clock.now(), previous)
    if (sameStatus(previous, next)) return false
    if (this.#tooEarly(previous, next)) return true
    await client.patch(policyTypes(mesh.names)[kind], name, patchOf(object, next), {
      namespace,
      subresource: "status",
      type: "json",
    })
    entry.written = next
    wrote?.(kind)
    const { apiVersion, metadata } = object
    const involved = { apiVersion, kind, name, namespace, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) }
    for (const { reason, message } of eventsBetween(previous, next)) events.record(involved, reason, message)
    return true
  }

  /** After a restart proxies need a moment to reconnect; until then the previous count stands. */
  #tooEarly(previous: Status | undefined, next: Status): boolean {
    if (this.#clock.monotonic() >= this.#settledAt) return false
    const [before, now] = [previous, next].map(status => status?.conditions?.find(({ type }) => type === "Enforced"))
    return (
      before?.status === "True" &&
      now?.reason === "NotConnected" &&
      before.observedGeneration === now.observedGeneration
    )
  }
}

/** The `test` operations make sure that the object is still the version from which the status was computed. */
function patchOf({ metadata: { uid, generation } }: KubernetesObject, status: Status): readonly object[] {
  return [
    ...(uid === undefined ? [] : [{ op: "test", path: "/metadata/uid", value: uid }]),
    ...(generation === undefined ? [] : [{ op: "test", path: "/metadata/generation", value: generation }]),
    { op: "add", path: "/status", value: status },
  ]
}

/** Other clients can write statuses too, so conditions in another format are ignored. */
function readStatus(value: unknown): Status | undefined {
  if (typeof value !== "object" || value === null) return undefined
  const { conditions, ...rest } = value as Status // checked below
  if (!Array.isArray(conditions)) return rest
  const usable = conditions.filter(condition => typeof condition === "object" && condition !== null)
  return { ...rest, conditions: usable.filter(({ lastTransitionTime }) => typeof lastTransitionTime === "string") }
}

function sameStatus(a: Status | undefined, b: Status | undefined): boolean {
  return isDeepStrictEqual([a?.observedGeneration, a?.conditions ?? []], [b?.observedGeneration, b?.conditions ?? []])
}

function standingOf({ uid, proxied, started, bypass }: MeshWorkload): string {
  return JSON.stringify([uid, proxied, started, bypass])
}

function intersects(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  for (const item of a) if (b.has(item)) return true
  return false
}
