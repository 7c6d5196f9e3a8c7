// SPDX-License-Identifier: Apache-2.0
// The answer to a watch: one JSON document per line, as in a Kubernetes watch. Bookmarks report omitted entries,
// unreachable replicas and heartbeats. Clients that ask for tables get bookmarks only on request, since they would
// print them as rows.

import type { ServerResponse } from "node:http"
import type { Item } from "./item.js"
import type { ObservedAnswers } from "./observed-answers.js"
import { type Question, wholeIn } from "./question.js"
import { whenOver } from "./reply-over.js"
import { ANSWERS_VERSION } from "./resources.js"
import { type TableRequest, tableOf } from "./table.js"

export interface Followed {
  readonly group: string
  readonly seen: Pick<ObservedAnswers, "follow">
  readonly wanted: TableRequest | undefined
}

const MAX_LINES = 1 << 20
const HEARTBEAT_MS = 15_000
const WATCH_SECONDS = 30 * 60
/** How long a client may take to read the rest after the end. */
const LINGER_MS = 5_000

/** Returns a function that ends it. Throws before anything is sent if the query is invalid. */
export function followInReply(
  question: Question,
  reply: ServerResponse,
  { group, seen, wanted }: Followed,
): () => void {
  const sendsBookmarks = wanted === undefined || question.query.get("allowWatchBookmarks") === "true"
  const type = { apiVersion: `${group}/${ANSWERS_VERSION}`, kind: question.resource.kind }
  const seconds = wholeIn(question.query, "timeoutSeconds", WATCH_SECONDS, WATCH_SECONDS)
  let leftOut = 0
  let reportedSilent: readonly string[] = []
  const write = (event: object): void => void reply.write(`${JSON.stringify(event)}\n`)
  const bookmark = (): void => {
    if (!sendsBookmarks) return
    const annotations = {
      [`${group}/left-out`]: String(leftOut),
      ...(reportedSilent.length === 0 ? {} : { [`${group}/silent`]: reportedSilent.join(",") }),
    }
    write({ type: "BOOKMARK", object: { ...type, metadata: { resourceVersion: "0", annotations } } })
    leftOut = 0
  }
  const shape = (object: Item & typeof type): object =>
    wanted === undefined
      ? object
      : tableOf(question.resource, [object], wanted, { metadata: { resourceVersion: "0" }, now: Date.now() })
  const decided = (items: readonly Item[], more: number): void => {
    leftOut += more
    for (const item of items) {
      // A client that does not keep up gets only the number of omitted entries.
      if (reply.writableLength > MAX_LINES) leftOut += 1
      else write({ type: "ADDED", object: shape({ ...type, ...item }) })
    }
    if (leftOut > 0 && reply.writableLength <= MAX_LINES) bookmark()
  }
  const silent = (replicas: readonly string[]): void => {
    reportedSilent = replicas
    if (reply.headersSent) bookmark()
  }
  // Before the response header is sent, so that an invalid filter is still rejected.
  const unfollow = seen.follow(question, { decided, silent })
  reply.writeHead(200, { "content-type": "application/json", "cache-control": "no-cache, private" })
  reply.flushHeaders()
  const heartbeat = setInterval(bookmark, HEARTBEAT_MS)
  let isStopped = false
  const stop = (): void => {
    if (isStopped) return
    isStopped = true
    clearInterval(heartbeat)
    clearTimeout(timeout)
    unfollow()
  }
  // INVARIANT: nothing is written after the end, since that would crash the process. A stalled client delays the
  // reply's `close` event, so this does not wait for it.
  const end = (): void => {
    stop()
    reply.end()
    const cut = setTimeout(() => reply.destroy(), LINGER_MS)
    whenOver(reply, () => clearTimeout(cut))
  }
  const timeout = setTimeout(end, seconds * 1_000)
  whenOver(reply, stop)
  return end
}
