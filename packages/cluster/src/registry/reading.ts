// SPDX-License-Identifier: Apache-2.0
// Lists and watches. A list is consistent at one revision, in pages if requested. A watch begins exactly where a list
// ended and sends ADDED and DELETED when an object starts or stops matching.

import { metaOf } from "../meta/object-meta.js"
import { ApiError, badRequest, expired, internal, internalError, resourceVersionTooLarge } from "../meta/status.js"
import { matchesFields } from "../selectors/field.js"
import { matchesLabels } from "../selectors/label.js"
import { CompactedError, type Entry, FutureRevisionError, type StoreEvent, type Watch } from "../store/store.js"
import { asObject, asString, type Json, type JsonObject, scalarText } from "../value.js"
import { JsonSyntaxError, parseJson } from "../wire/json.js"
import { type Kind, prefixOf } from "./kind.js"
import type { ListOptions } from "./list-options.js"
import type { Registry } from "./registry.js"
import { withRevision } from "./revision.js"

export interface Listed {
  readonly objects: JsonObject[]
  readonly revision: number
  readonly continue: string
  readonly remaining: number | undefined
}

const TOO_OLD =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."

export function parseRevision(text: string): number | string {
  if (text === "") return 0
  return /^\d+$/.test(text)
    ? Number(text)
    : `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`
}

function matches(kind: Kind, object: JsonObject, options: ListOptions): boolean {
  return (
    (options.labels.length === 0 || matchesLabels(options.labels, asObject(metaOf(object).labels))) &&
    (options.fields.length === 0 || matchesFields(options.fields, path => kind.field(object, path) ?? ""))
  )
}

/** Continue tokens have Kubernetes' format: base64 of the revision and the key after which to continue. */
function encodeContinue(revision: number, start: string): string {
  return Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: revision, start: `${start}\0` })).toString("base64url")
}

function decodeContinue(token: string): { rv: number; start: string } {
  const reject = (why: string): never => {
    throw badRequest(`invalid continue token: ${why}`)
  }
  const bad = /[^A-Za-z0-9_-]/.exec(token)
  if (bad !== null) return reject(`continue key is not valid: illegal base64 data at input byte ${bad.index}`)
  let value: Json
  try {
    value = parseJson(Buffer.from(token, "base64url").toString()).value
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    return reject(`continue key is not valid: ${error.message}`)
  }
  const { v, rv, start } = asObject(value)
  if (v !== "meta.k8s.io/v1") return reject(`server does not recognize this encoded version ${scalarText(v)}`)
  if (typeof rv !== "number" || rv === 0)
    return reject("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
  if (typeof start !== "string" || start === "") return reject("encoded start key empty (version meta.k8s.io/v1)")
  // The start key must stay below the prefix of the list.
  if (start.split("/").some(part => part === ".." || part === ".")) return reject(`continue key is not valid: ${start}`)
  return { rv, start: start.replace(/^\//, "").replace(/\0$/, "") }
}

export async function list(registry: Registry, kind: Kind, namespace: string, options: ListOptions): Promise<Listed> {
  const prefix = prefixOf(kind.info, namespace)
  let revision: number | undefined
  let after: string | undefined
  if (options.continue !== "") {
    const token = decodeContinue(options.continue)
    if (options.resourceVersion !== "" && options.resourceVersion !== "0")
      throw badRequest("specifying resource version is not allowed when using continue")
    after = prefix + token.start
    if (token.rv > 0) revision = token.rv
  } else {
    const requested = parseRevision(options.resourceVersion)
    if (typeof requested === "string") throw badRequest(`invalid resource version: ${requested}`)
    if (!(await registry.store.reached(requested)))
      throw resourceVersionTooLarge(options.resourceVersion, registry.store.revision())
    if (options.resourceVersionMatch === "Exact") revision = requested
  }
  try {
    return await page(registry, kind, prefix, options, revision, after)
  } catch (error) {
    if (error instanceof FutureRevisionError) throw resourceVersionTooLarge(`${revision}`, error.current)
    if (!(error instanceof CompactedError)) throw error
    if (after === undefined) throw expired("The resourceVersion for the provided list is too old.")
    throw new ApiError(410, "Expired", TOO_OLD, undefined, {
      metadata: { continue: encodeContinue(-1, after.slice(prefix.length)) },
    })
  }
}

async function page(
  registry: Registry,
  kind: Kind,
  prefix: string,
  options: ListOptions,
  revision: number | undefined,
  after: string | undefined,
): Promise<Listed> {
  const selective = options.labels.length > 0 || options.fields.length > 0
  const request = { prefix, ...(revision === undefined ? {} : { revision }), ...(after === undefined ? {} : { after }) }
  if (!selective) {
    const found = await registry.store.range({ ...request, limit: options.limit })
    const last = found.entries.at(-1)
    return {
      objects: found.entries.map(entry => registry.present(kind, entry)),
      revision: found.revision,
      continue:
        found.remaining > 0 && last !== undefined ? encodeContinue(found.revision, last.key.slice(prefix.length)) : "",
      remaining: found.remaining > 0 ? found.remaining : undefined,
    }
  }
  const found = await registry.store.range(request)
  const objects: JsonObject[] = []
  let last: Entry | undefined
  for (const entry of found.entries) {
    const object = registry.present(kind, entry)
    if (!matches(kind, object, options)) continue
    if (options.limit > 0 && objects.length === options.limit && last !== undefined)
      return {
        objects,
        revision: found.revision,
        continue: encodeContinue(found.revision, last.key.slice(prefix.length)),
        remaining: undefined,
      }
    objects.push(object)
    last = entry
  }
  return { objects, revision: found.revision, continue: "", remaining: undefined }
}

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR"
  readonly object: JsonObject
}

export interface WatchHandle extends Watch {
  /** Returns a bookmark with the revision up to which everything has been delivered. */
  bookmark(initialEventsEnd?: boolean): WatchEvent
}

/** Delivers matching changes in order. The initial state comes first if the options request it. */
export async function watch(
  registry: Registry,
  kind: Kind,
  namespace: string,
  options: ListOptions,
  emit: (event: WatchEvent) => void,
  /** Resolves when the reader is ready for more, because the initial state may be larger than its queue. */
  ready: () => Promise<void>,
): Promise<WatchHandle> {
  const prefix = prefixOf(kind.info, namespace)
  const requested = parseRevision(options.resourceVersion)
  if (typeof requested === "string") throw internal(requested)
  const store = registry.store
  let from = requested
  let seen = requested
  const bookmark = (initialEventsEnd = false): WatchEvent => {
    const meta: JsonObject = { resourceVersion: `${Math.max(seen, store.revision())}` }
    if (initialEventsEnd) meta.annotations = { "k8s.io/initial-events-end": "true" }
    return { type: "BOOKMARK", object: { ...kind.empty, metadata: meta } }
  }
  const initial = options.sendInitialEvents ?? requested === 0
  if (initial || options.sendInitialEvents === false) {
    const { entries, revision } = await store.range({ prefix })
    from = Math.max(requested, revision)
    // Kubernetes sends no initial events if bookmarks, which would mark their end, are not allowed.
    const silent = options.sendInitialEvents === true && !options.allowWatchBookmarks
    if (initial && !silent)
      for (const entry of entries) {
        const object = registry.present(kind, entry)
        if (!matches(kind, object, options)) continue
        emit({ type: "ADDED", object })
        await ready()
      }
    seen = from
    if (options.sendInitialEvents === true && options.allowWatchBookmarks) emit(bookmark(true))
  }
  try {
    const deliver = (event: StoreEvent): void => {
      seen = event.revision
      const before = event.previous === undefined ? undefined : registry.present(kind, event.previous)
      const after = event.entry === undefined ? undefined : registry.present(kind, event.entry)
      const matched = before !== undefined && matches(kind, before, options)
      const matching = after !== undefined && matches(kind, after, options)
      if (matching) emit({ type: matched ? "MODIFIED" : "ADDED", object: after })
      else if (matched) emit({ type: "DELETED", object: withRevision(before, event.revision) })
    }
    const handle = store.watch(prefix, from, event => {
      try {
        deliver(event)
      } catch (error) {
        // An object that cannot be converted ends this watch. An error thrown to the store would end the process.
        emit({ type: "ERROR", object: internalError(error instanceof Error ? error.message : "").toStatus() })
      }
    })
    return { close: () => handle.close(), bookmark }
  } catch (error) {
    if (!(error instanceof CompactedError)) throw error
    const status = new ApiError(
      410,
      "Expired",
      `too old resource version: ${asString(options.resourceVersion)} (${error.current})`,
    )
    emit({ type: "ERROR", object: status.toStatus() })
    return { close: () => undefined, bookmark }
  }
}
