// SPDX-License-Identifier: Apache-2.0
// How a kind differs from a plain document, beyond its types: normalisation before validation, allocation, what blocks
// its deletion, and who may change which part. The registry asks the kind's behaviour and never its name, so that a
// custom kind with the name of a built-in one stays a plain document.

import type { FieldError } from "../meta/field-error.js"
import type { RequestContext, User } from "../registry/context.js"
import type { Compare, Store, Write } from "../store/store.js"
import type { JsonObject } from "../value.js"

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: string
  readonly orphanDependents?: boolean
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
}

/** What is committed along with an object. */
export interface Allocation {
  readonly compares: readonly Compare[]
  readonly writes: readonly Write[]
}

export interface Allocating {
  readonly object: JsonObject
  readonly key: string
  readonly prefix: string
  readonly store: Pick<Store, "get" | "range">
}

export interface Behaviour {
  /** The status endpoint may also change labels, annotations and finalizers. */
  readonly metaThroughStatus?: boolean
  /** Rejections of invalid objects name this group instead of the kind's own. */
  readonly rejectedIn?: string
  /** Fields that selectors may ask for beside name and namespace. */
  readonly selectable?: readonly string[]
  /** A warning to every client that uses the kind. */
  readonly deprecation?: string
  /** Names that may not be deleted. */
  readonly immortal?: ReadonlySet<string>
  prepareCreate?(object: JsonObject): void
  prepareUpdate?(object: JsonObject, old: JsonObject): void
  /** One spelling for what may be said in two. */
  normalize?(object: JsonObject): void
  /** What a subresource may leave of an object that it was sent. */
  narrow?(subresource: string, object: JsonObject, old: JsonObject): void
  /** What is wrong with an update through such a subresource; undefined where the ordinary rules hold. */
  validateNarrowed?(subresource: string, object: JsonObject, old: JsonObject): readonly FieldError[] | undefined
  /** Takes what no two objects may have, such as addresses; throws ApiError when it cannot. */
  allocate?(request: Allocating): Promise<Allocation>
  /** What the server itself adds to a new object, for any sender. */
  admit?(object: JsonObject, user: User): JsonObject
  /** Something a user should know who creates such an object. */
  advise?(object: JsonObject, context: Pick<RequestContext, "warn">): void
  /** Whether more than finalizers and grace hold an object that is being deleted. */
  held?(object: JsonObject): boolean
  /** Grace period in seconds for the program that runs the object; kinds without it are deleted at once. */
  grace?(object: JsonObject, options: DeleteOptions): number
  /** Replaces the ordinary marks of deletion. */
  mark?(object: JsonObject, time: string): void
}
