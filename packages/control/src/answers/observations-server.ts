// SPDX-License-Identifier: Apache-2.0
// Serves our local observations to other replicas. It never asks further replicas.

import type { ServerResponse } from "node:http"
import { AnswersApiError } from "./api/answers-api-error.js"
import type { Item } from "./api/item.js"
import type { LocalObservations } from "./local-observations.js"

export const OBSERVATION_PATHS = {
  decisions: "/v1/decisions",
  decision: "/v1/decision",
  follow: "/v1/follow",
  proxies: "/v1/proxies",
  traffic: "/v1/traffic",
  destinations: "/v1/destinations",
} as const

const NAMESPACE = "namespace"
const HEARTBEAT_MS = 5_000
/** Above this many buffered bytes, a replica that does not keep up gets only the number of omitted entries. */
const MAX_LINES = 1 << 20
/** Keeps each line shorter than the longest line that a reader accepts. */
const MOST_ITEMS = 100

/** The query, restricted to the namespace that the user may see. */
export function observationQuery(namespace: string | undefined, query: URLSearchParams): URLSearchParams {
  const asked = new URLSearchParams(query)
  asked.delete(NAMESPACE)
  if (namespace !== undefined) asked.set(NAMESPACE, namespace)
  return asked
}

export async function answerObservations(
  own: LocalObservations,
  path: string,
  query: URLSearchParams,
): Promise<object | undefined> {
  const namespace = query.get(NAMESPACE) ?? undefined
  switch (path) {
    case OBSERVATION_PATHS.decisions:
      return own.decisions(namespace, query)
    case OBSERVATION_PATHS.decision:
      return own.decision(query.get("id") ?? "", namespace)
    case OBSERVATION_PATHS.proxies:
      return own.proxies(namespace)
    case OBSERVATION_PATHS.traffic:
      return own.traffic(namespace)
    case OBSERVATION_PATHS.destinations:
      return own.destinations(namespace, query)
    default:
      return undefined
  }
}

/** Returns false if the path is for another query. */
export function followObservations(
  own: LocalObservations,
  path: string,
  query: URLSearchParams,
  reply: ServerResponse,
): boolean {
  if (path !== OBSERVATION_PATHS.follow) return false
  let leftOut = 0
  const write = (items: readonly Item[]): void => {
    reply.write(`${JSON.stringify({ items, leftOut })}\n`)
    leftOut = 0
  }
  const decided = (items: readonly Item[], more: number): void => {
    leftOut += more
    if (reply.writableLength > MAX_LINES) {
      leftOut += items.length
      return
    }
    for (let at = 0; at < items.length; at += MOST_ITEMS) write(items.slice(at, at + MOST_ITEMS))
    if (leftOut > 0) write([])
  }
  let unfollow: () => void
  try {
    unfollow = own.follow(query.get(NAMESPACE) ?? undefined, query, decided)
  } catch (error) {
    // The querying replica has already read the same filter; a replica of another version may read it differently.
    if (!(error instanceof AnswersApiError)) throw error
    reply.writeHead(error.code).end()
    return true
  }
  reply.writeHead(200, { "content-type": "application/json" })
  write([])
  const heartbeat = setInterval(() => {
    if (reply.writableLength <= MAX_LINES) write([])
  }, HEARTBEAT_MS)
  reply.once("close", () => {
    clearInterval(heartbeat)
    unfollow()
  })
  return true
}
