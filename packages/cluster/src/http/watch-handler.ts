// SPDX-License-Identifier: Apache-2.0
// Streams a watch: one JSON document per line until the timeout, the client disconnects or the server stops. Unread data
// waits in the client's outbox, within its share; beyond that the watch is dropped and the client has to list again.

import { metaOf } from "../meta/object-meta.js"
import type { Kind } from "../registry/kind.js"
import { parseListOptions } from "../registry/list-options.js"
import { type WatchEvent, type WatchHandle, watch } from "../registry/reading.js"
import type { Registry } from "../registry/registry.js"
import { partialMetadata, renderTable } from "../table/render.js"
import { asString, type JsonObject } from "../value.js"
import { stringify } from "../wire/json.js"
import type { Exchange } from "./exchange.js"
import type { Accepted } from "./negotiate.js"
import { acceptObject, includeObject } from "./read-handlers.js"

const BOOKMARK_EVERY = 60_000
const BOOKMARK_BEFORE_END = 2000
const DEFAULT_TIMEOUT = { least: 1800, more: 1800 }

const lines = new WeakMap<JsonObject, Map<string, Buffer>>()

/** An event that many watchers receive is serialized once and shares its bytes, however many of them are slow. */
function lineOf({ type, object }: WatchEvent): Buffer {
  const known = lines.get(object)?.get(type)
  if (known !== undefined) return known
  const line = Buffer.from(`{"type":"${type}","object":${stringify(object)}}\n`)
  if (type !== "BOOKMARK") lines.set(object, (lines.get(object) ?? new Map<string, Buffer>()).set(type, line))
  return line
}

export async function handleWatch(
  exchange: Exchange,
  registry: Registry,
  kind: Kind,
  namespace: string,
  onClose: (close: () => void) => void,
): Promise<void> {
  const accepted = acceptObject(exchange, kind)
  const options = parseListOptions(exchange.query, kind, true)
  const include = accepted.as?.kind === "Table" ? includeObject(exchange) : "Metadata"
  const { response } = exchange
  const timeout = (options.timeoutSeconds ?? DEFAULT_TIMEOUT.least + Math.random() * DEFAULT_TIMEOUT.more) * 1000
  const timers: NodeJS.Timeout[] = []
  const outbox = exchange.outbox(exchange.limits.backlogBytesPerWatch)
  let handle: WatchHandle | undefined
  let ended = false
  let first = true
  const end = (): void => {
    if (ended) return
    ended = true
    handle?.close()
    for (const timer of timers) clearTimeout(timer)
    outbox.end()
  }
  const emit = (event: WatchEvent): void => {
    if (ended) return
    if (!response.headersSent) start(exchange)
    const shaped = shape(kind, event, accepted, first, include, exchange.now())
    first = false
    outbox.push(lineOf(shaped))
    if (event.type === "ERROR") end()
  }
  response.on("close", end)
  onClose(end)
  timers.push(setTimeout(end, timeout))
  try {
    handle = await watch(registry, kind, namespace, options, emit, () => outbox.drained())
  } catch (error) {
    for (const timer of timers) clearTimeout(timer)
    throw error
  }
  if (ended) {
    handle.close()
    return
  }
  if (!response.headersSent) start(exchange)
  if (!options.allowWatchBookmarks) return
  const bookmark = (): void => {
    if (handle !== undefined) emit(handle.bookmark())
  }
  timers.push(setInterval(bookmark, BOOKMARK_EVERY))
  if (timeout > BOOKMARK_BEFORE_END) timers.push(setTimeout(bookmark, timeout - BOOKMARK_BEFORE_END))
}

function start(exchange: Exchange): void {
  exchange.warningHeaders()
  exchange.response.statusCode = 200
  exchange.response.setHeader("Content-Type", "application/json")
  exchange.response.setHeader("Cache-Control", "no-cache, private")
  exchange.response.flushHeaders()
}

function shape(
  kind: Kind,
  event: WatchEvent,
  accepted: Accepted,
  first: boolean,
  include: "None" | "Metadata" | "Object",
  now: number,
): WatchEvent {
  const as = accepted.as
  if (as === undefined || event.type === "ERROR") return event
  if (as.kind !== "Table") return { type: event.type, object: partialMetadata(event.object, as.version) }
  const metadata = { resourceVersion: asString(metaOf(event.object).resourceVersion) }
  return {
    type: event.type,
    object: renderTable(kind, {
      objects: [event.object],
      metadata,
      includeObject: include,
      withColumns: first,
      version: as.version,
      isList: false,
      now,
    }),
  }
}
