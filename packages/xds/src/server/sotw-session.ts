// SPDX-License-Identifier: Apache-2.0
// The state-of-the-world variant of xDS on one stream. Listeners and clusters always go out complete, so that absence
// can be read off them; of the other types only what the client has not seen yet, which the protocol allows.

import { checkNames, checkTotal, checkTypeUrl } from "./request-bounds.js"
import { REJECTION_LENGTH, type SessionOptions, type StreamSession } from "./session.js"
import type { VersionedResource } from "./source.js"
import { exhausted, type StreamFault } from "./stream-fault.js"
import { isCompleteType, typeRank } from "./type-order.js"
import { Unanswered } from "./unanswered.js"

/** The parts of a DiscoveryRequest that matter once the stream is open. */
export interface SotwRequest {
  readonly typeUrl: string
  readonly resourceNames: readonly string[]
  readonly responseNonce: string
  readonly errorDetail?: { readonly message: string } | undefined
}

export interface SotwResponse {
  readonly typeUrl: string
  readonly nonce: string
  readonly revision: number
  readonly resources: readonly VersionedResource[]
}

class SotwType {
  wildcard = false
  /** Whether any request named a resource; from then on an empty list means none. */
  named = false
  names: ReadonlySet<string> = new Set()
  /** Versions by name, as last sent. A rejected response leaves nothing here. */
  sent = new Map<string, string>()
  rejected: ReadonlyMap<string, string | undefined> | undefined
  dirty = false
  expecting = false
  readonly unanswered = new Unanswered()
}

export class SotwSession implements StreamSession<SotwRequest, SotwResponse> {
  readonly #options: SessionOptions
  readonly #types = new Map<string, SotwType>()
  #sequence = 0

  constructor(options: SessionOptions) {
    this.#options = options
  }

  request(request: SotwRequest): StreamFault | undefined {
    const { limits, mayWatch, subscriber } = this.#options
    const { typeUrl, resourceNames } = request
    const fault = checkTypeUrl(typeUrl, limits) ?? checkNames(resourceNames, limits)
    if (fault !== undefined) return fault
    const known = this.#types.get(typeUrl)
    if (known === undefined) {
      if (this.#types.size >= limits.typesPerStream) return exhausted(`at most ${limits.typesPerStream} types`)
      const refusal = mayWatch(typeUrl)
      if (refusal !== undefined) return refusal
    }
    const type = known ?? new SotwType()
    this.#types.set(typeUrl, type)
    this.#settle(typeUrl, type, request)

    const names = new Set(resourceNames)
    const wildcard = names.delete("*") || (resourceNames.length === 0 && !type.named)
    if (names.size > limits.namesPerType) return exhausted(`at most ${limits.namesPerType} names of a type`)
    if (resourceNames.length > 0) type.named = true
    // Every request repeats all names, and a stream keeps their order: the list counts even where the nonce is stale.
    if (known !== undefined && wildcard === type.wildcard && isSame(names, type.names)) return undefined
    type.wildcard = wildcard
    type.names = names
    const tooMany = checkTotal(
      [...this.#types.values()].map(each => each.names.size),
      limits,
    )
    if (tooMany !== undefined) return tooMany
    type.dirty = true
    // An answer of a complete type says what there is, even if that is nothing.
    if (isCompleteType(typeUrl) || (known === undefined && wildcard)) type.expecting = true
    if (!wildcard) for (const name of type.sent.keys()) if (!names.has(name)) type.sent.delete(name)
    subscriber.watch(typeUrl, wildcard ? "*" : new Set(names))
    return undefined
  }

  wake(typeUrl: string): void {
    const type = this.#types.get(typeUrl)
    if (type !== undefined) type.dirty = true
  }

  next(now: number): SotwResponse | undefined {
    const types = [...this.#types].sort(([one], [other]) => typeRank(one) - typeRank(other))
    for (const [typeUrl, type] of types) {
      const response = this.#respond(typeUrl, type, now)
      if (response !== undefined) return response
    }
    return undefined
  }

  get deadline(): number | undefined {
    let earliest: number | undefined
    for (const type of this.#types.values()) {
      const due = type.unanswered.deadline(this.#options.limits.ackDeadlineMs, type.dirty)
      if (due !== undefined && (earliest === undefined || due < earliest)) earliest = due
    }
    return earliest
  }

  #respond(typeUrl: string, type: SotwType, now: number): SotwResponse | undefined {
    const { subscriber, limits, observe } = this.#options
    if (!type.unanswered.empty) {
      if (!type.unanswered.isOverdue(now, limits.ackDeadlineMs)) return undefined
      if (type.unanswered.reportOnce()) observe?.overdue?.(typeUrl)
    }
    if (!type.dirty && !type.expecting) return undefined
    type.dirty = false
    const snapshot = subscriber.snapshot(typeUrl)
    const wanted = [...snapshot.resources.values()].filter(({ name }) => type.wildcard || type.names.has(name))
    const fresh = wanted.filter(({ name, version }) => type.sent.get(name) !== version)
    const complete = isCompleteType(typeUrl)
    const gone = [...type.sent.keys()].filter(name => !snapshot.resources.has(name))
    const resources = complete ? wanted : fresh
    const changes = new Map<string, string | undefined>(resources.map(({ name, version }) => [name, version]))
    const { expecting } = type
    if (!expecting && type.rejected !== undefined && isSameMap(type.rejected, changes)) return undefined
    const hasNews = fresh.length > 0 || (complete && (gone.length > 0 || type.rejected !== undefined))
    if (!expecting && !hasNews) {
      // The protocol cannot say that one of these is gone; a version that comes back is news again.
      for (const name of gone) type.sent.delete(name)
      if (type.unanswered.empty) subscriber.acknowledged(typeUrl, snapshot.revision)
      return undefined
    }
    type.expecting = false
    if (complete) type.sent = new Map()
    else for (const name of gone) type.sent.delete(name)
    for (const { name, version } of resources) type.sent.set(name, version)
    const { revision } = snapshot
    this.#sequence += 1
    const nonce = `${this.#sequence}-${revision}`
    type.unanswered.add({ nonce, revision, at: now, changes })
    return { typeUrl, nonce, revision, resources }
  }

  #settle(typeUrl: string, type: SotwType, { responseNonce, errorDetail }: SotwRequest): void {
    if (responseNonce === "") return
    const settled = type.unanswered.settle(responseNonce)
    if (settled === undefined) return
    const { subscriber, observe } = this.#options
    const { sent, skipped } = settled
    if (errorDetail === undefined) {
      type.rejected = undefined
      observe?.acknowledged?.(typeUrl, sent.at)
      subscriber.acknowledged(typeUrl, sent.revision)
      return
    }
    // What was refused, or never answered before it, is sent again with the next change.
    for (const { changes } of [...skipped, sent]) for (const name of changes.keys()) type.sent.delete(name)
    type.rejected = sent.changes
    const message = errorDetail.message.slice(0, REJECTION_LENGTH)
    observe?.rejected?.(typeUrl, message)
    subscriber.rejected(typeUrl, sent.revision, message)
  }
}

function isSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  if (one.size !== other.size) return false
  for (const name of one) if (!other.has(name)) return false
  return true
}

function isSameMap(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): boolean {
  if (one.size !== other.size) return false
  for (const [name, value] of one) if (!other.has(name) || other.get(name) !== value) return false
  return true
}
