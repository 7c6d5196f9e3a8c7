// SPDX-License-Identifier: Apache-2.0
// The state-of-the-world variant of xDS on one stream. Listeners and clusters are always sent completely, so that a
// missing resource is a deleted one. For other types only what the client has not received yet is sent, which the
// protocol allows.

import { bytesOf, checkNames, checkTotal, checkTypeUrl } from "./request-bounds.js"
import { type ServedType, ServedTypes } from "./served-types.js"
import type { SessionOptions, StreamSession } from "./session.js"
import type { VersionedResource } from "./source.js"
import { exhausted, type StreamError } from "./stream-error.js"
import { isCompleteType } from "./type-order.js"
import { type Sent, Unanswered } from "./unanswered.js"

/** The fields of a DiscoveryRequest that matter once the stream is open. */
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

class SotwType implements ServedType {
  wildcard = false
  /** Whether any request named a resource; from then on an empty list means none. */
  named = false
  names: ReadonlySet<string> = new Set()
  /** Versions by name, as last sent. Resources of a rejected response are removed. */
  sent = new Map<string, string>()
  rejected: ReadonlyMap<string, string | undefined> | undefined
  dirty = false
  expecting = false
  readonly unanswered = new Unanswered()

  accepted(): void {
    this.rejected = undefined
  }

  /** Resources that were rejected, or never acknowledged before that, are sent again with the next change. */
  nacked(sent: Sent, skipped: readonly Sent[]): void {
    for (const { changes } of [...skipped, sent]) for (const name of changes.keys()) this.sent.delete(name)
    this.rejected = sent.changes
  }
}

export class SotwSession implements StreamSession<SotwRequest, SotwResponse> {
  readonly #options: SessionOptions
  readonly #types: ServedTypes<SotwType>

  constructor(options: SessionOptions) {
    this.#options = options
    this.#types = new ServedTypes(options)
  }

  request(request: SotwRequest): StreamError | undefined {
    const { limits, subscriber } = this.#options
    const { typeUrl, resourceNames } = request
    const known = this.#types.get(typeUrl)
    const error =
      checkTypeUrl(typeUrl, limits) ??
      checkNames(resourceNames, limits) ??
      (known === undefined ? this.#types.rejection(typeUrl) : undefined)
    if (error !== undefined) return error
    const type = known ?? this.#types.add(typeUrl, new SotwType())
    this.#types.settle(typeUrl, type, request)

    const names = new Set(resourceNames)
    const wildcard = names.delete("*") || (resourceNames.length === 0 && !type.named)
    if (names.size > limits.namesPerType) return exhausted(`at most ${limits.namesPerType} names of a type`)
    if (resourceNames.length > 0) type.named = true
    // Every request repeats all names, and requests stay in order, so the list counts even if the nonce is stale.
    if (known !== undefined && wildcard === type.wildcard && isSame(names, type.names)) return undefined
    type.wildcard = wildcard
    type.names = names
    const tooMany = checkTotal(
      [...this.#types.values()].map(each => each.names.size),
      limits,
    )
    const kept = [...this.#types.values()].reduce((sum, each) => sum + bytesOf(each.names), 0)
    const tooLarge = tooMany ?? this.#options.charge?.(kept)
    if (tooLarge !== undefined) return tooLarge
    type.dirty = true
    // A response of a complete type states what exists, even if that is nothing.
    if (isCompleteType(typeUrl) || (known === undefined && wildcard)) type.expecting = true
    if (!wildcard) for (const name of type.sent.keys()) if (!names.has(name)) type.sent.delete(name)
    subscriber.watch(typeUrl, wildcard ? "*" : new Set(names))
    return undefined
  }

  wake(typeUrl: string): void {
    this.#types.wake(typeUrl)
  }

  next(now: number): SotwResponse | undefined {
    return this.#types.next(now, (typeUrl, type) => this.#respond(typeUrl, type, now))
  }

  get deadline(): number | undefined {
    return this.#types.deadline
  }

  #respond(typeUrl: string, type: SotwType, now: number): SotwResponse | undefined {
    const { subscriber } = this.#options
    const snapshot = subscriber.snapshot(typeUrl)
    if (snapshot === undefined) return undefined
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
      // The protocol cannot express the deletion of these; a version that comes back is new again.
      for (const name of gone) type.sent.delete(name)
      if (type.unanswered.empty) subscriber.acknowledged(typeUrl, snapshot.revision)
      return undefined
    }
    if (complete) type.sent = new Map()
    else for (const name of gone) type.sent.delete(name)
    for (const { name, version } of resources) type.sent.set(name, version)
    const { revision } = snapshot
    const nonce = this.#types.sent(type, { revision, at: now, changes })
    return { typeUrl, nonce, revision, resources }
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
