// SPDX-License-Identifier: Apache-2.0
// Whether the control plane answers, judged by the page's own requests. The console's server, the API behind it, and the
// answers API behind that can each fail alone. A response of one says nothing about those behind it.

import { useSyncExternalStore } from "react"
import { ApiError } from "../api/client.js"

/** In the order in which a request passes them. */
const PARTS = ["server", "api", "answers"] as const
export type Part = (typeof PARTS)[number]

const away = new Map<Part, number>()
/** Parts that have answered this page at least once. */
const known = new Set<Part>()
const watching = new Set<() => void>()
let awaySince: number | undefined

/** The part that answers a query, by the first word of the query's key. */
export function partOf(word: unknown): Part {
  if (word === "session") return "server"
  return word === "answers" || word === "asked" ? "answers" : "api"
}

export function noteAnswer(part: Part): void {
  for (const passed of PARTS.slice(0, PARTS.indexOf(part) + 1)) {
    away.delete(passed)
    known.add(passed)
  }
  notify()
}

export function noteFailure(part: Part, error: unknown): void {
  if (!(error instanceof ApiError)) return
  // A rejection is a response too; a request without a session reached only the console's server.
  if (error.status < 500 && !isWithdrawn(part, error)) {
    noteAnswer(error.status === 401 ? "server" : part)
    return
  }
  const silent = error.reason === "Unreachable" ? (error.status === 503 ? "server" : "api") : part
  if (!away.has(silent)) away.set(silent, Date.now())
  notify()
}

/** A control plane that stops withdraws its API from the cluster, which then answers 404 without a reason. */
function isWithdrawn(part: Part, { status, reason }: ApiError): boolean {
  return part === "answers" && status === 404 && reason === "" && known.has(part)
}

/** When the first part stopped answering; undefined while all of them answer. */
export function useAwaySince(): number | undefined {
  return useSyncExternalStore(subscribe, whenAway)
}

export function whenAway(): number | undefined {
  return awaySince
}

function notify(): void {
  const since = away.size === 0 ? undefined : Math.min(...away.values())
  if (awaySince === since) return
  awaySince = since
  for (const changed of watching) changed()
}

function subscribe(changed: () => void): () => void {
  watching.add(changed)
  return () => watching.delete(changed)
}
