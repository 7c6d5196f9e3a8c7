// SPDX-License-Identifier: Apache-2.0
// Whether the control plane answers, as the page's own questions find out. The console's server, the API behind it and the
// answers behind that may be away each by itself; an answer of one says nothing of those behind it.

import { useSyncExternalStore } from "react"
import { ApiError } from "../api/client.js"

/** In the order in which a question passes them. */
const PARTS = ["server", "api", "answers"] as const
export type Part = (typeof PARTS)[number]

const away = new Map<Part, number>()
/** Parts that have answered this page at least once. */
const known = new Set<Part>()
const watching = new Set<() => void>()
let awaySince: number | undefined

/** Which part a question is put to, by the first word of its key. */
export function partOf(word: unknown): Part {
  if (word === "session") return "server"
  return word === "answers" || word === "asked" ? "answers" : "api"
}

export function noteAnswer(part: Part): void {
  for (const passed of PARTS.slice(0, PARTS.indexOf(part) + 1)) {
    away.delete(passed)
    known.add(passed)
  }
  tell()
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
  tell()
}

/** A control plane that stops withdraws its API from the cluster, which then answers 404 without a reason. */
function isWithdrawn(part: Part, { status, reason }: ApiError): boolean {
  return part === "answers" && status === 404 && reason === "" && known.has(part)
}

/** Undefined while everything answers. */
export function useAwaySince(): number | undefined {
  return useSyncExternalStore(subscribe, whenAway)
}

export function whenAway(): number | undefined {
  return awaySince
}

function tell(): void {
  const since = away.size === 0 ? undefined : Math.min(...away.values())
  if (awaySince === since) return
  awaySince = since
  for (const changed of watching) changed()
}

function subscribe(changed: () => void): () => void {
  watching.add(changed)
  return () => watching.delete(changed)
}
