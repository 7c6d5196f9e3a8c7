// SPDX-License-Identifier: Apache-2.0
// How a kind differs from a plain document, beyond its types: normalization before validation, allocation, what blocks
// its deletion, and who may change which part. The registry uses a kind's behaviour and never its name, so a custom
// kind with the name of a built-in one stays a plain document.

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

/** Checked and written in the same transaction as an object. */
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
  /** Errors of invalid objects name this group instead of the kind's own. */
  readonly rejectedIn?: string
  /** Fields that field selectors may use besides name and namespace. */
  readonly selectable?: readonly string[]
  /** A deprecation warning for every client that uses the kind. */
  readonly deprecation?: string
  /** Names of objects that cannot be deleted. */
  readonly immortal?: ReadonlySet<string>
  prepareCreate?(object: JsonObject): void
  prepareUpdate?(object: JsonObject, old: JsonObject): void
  /** Rewrites values that have two spellings to one of them. */
  normalize?(object: JsonObject): void
  /** Discards changes that a subresource must not make. */
  narrow?(subresource: string, object: JsonObject, old: JsonObject): void
  /** Validates an update through such a subresource; undefined if the ordinary rules apply. */
  validateNarrowed?(subresource: string, object: JsonObject, old: JsonObject): readonly FieldError[] | undefined
  /** Reserves values that must be unique, such as addresses. Throws ApiError if it cannot. */
  allocate?(request: Allocating): Promise<Allocation>
  /** Defaults that the server adds to a new object. */
  admit?(object: JsonObject, user: User): JsonObject
  /** Warns the user who creates such an object. */
  advise?(object: JsonObject, context: Pick<RequestContext, "warn">): void
  /** Whether something other than finalizers and grace holds an object that is being deleted. */
  held?(object: JsonObject): boolean
  /** Grace period in seconds for the program that runs the object; kinds without one are deleted at once. */
  grace?(object: JsonObject, options: DeleteOptions): number
  /** Replaces the ordinary deletion marks. */
  mark?(object: JsonObject, time: string): void
}
