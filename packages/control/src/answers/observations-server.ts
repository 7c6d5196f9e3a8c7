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
/** Above this a replica that does not keep up gets numbers alone. */
const MAX_LINES = 1 << 20
/** So that a line is never longer than is read of one. */
const MOST_ITEMS = 100

/** The question, with the namespace that the user may ask about. */
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

/** False where something else is asked. */
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
    // Who asks has read the same filter before; one of another version may have read it otherwise.
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
