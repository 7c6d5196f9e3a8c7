// SPDX-License-Identifier: Apache-2.0
// Sends requests through pools in tests, and records their results.

import { parseRequestHead } from "../../http1/request-head.js"
import type { OutgoingRequest } from "../outgoing-request.js"
import type { Upstream, UpstreamCall, UpstreamFailure, UpstreamLimits } from "../upstream.js"

/** Limits so high that no test reaches them by accident. */
export const LIMITS: UpstreamLimits &
  Record<`${"header" | "bodyIdle" | "tunnelIdle" | "streamIdle"}TimeoutMs`, number> = {
  headerBytes: 64 * 1024,
  headerLines: 200,
  callerSharePercent: 50,
  upstreamConnections: 1_024,
  pendingRequests: 1_024,
  upstreamStreams: 10_000,
  connectTimeoutMs: 60_000,
  responseTimeoutMs: 0,
  keepAliveTimeoutMs: 75_000,
  headerTimeoutMs: 60_000,
  bodyIdleTimeoutMs: 60_000,
  tunnelIdleTimeoutMs: 60_000,
  streamIdleTimeoutMs: 60_000,
}

export interface Sent {
  readonly method?: string
  /** Announces content of this length; `content` sends it. */
  readonly length?: number
  readonly chunked?: boolean
  readonly upgrade?: string
}

export function outgoing({ method = "GET", length, chunked = false, upgrade }: Sent = {}): OutgoingRequest {
  const framing = `${length === undefined ? "" : `content-length: ${length}\r\n`}${chunked ? "transfer-encoding: chunked\r\n" : ""}`
  const head = parseRequestHead(`${method} /p HTTP/1.1\r\nhost: a\r\nx-kept: 1\r\n${framing}\r\n`, 10)
  if (typeof head === "string") throw new Error(head)
  const { headers } = head
  return {
    ...{ method, target: "/p", host: "a", scheme: "http", framing: head.framing, upgrade, caller: "a", headers },
    keeps: index => headers.name(index) === "x-kept",
    added: write => write("x-added", "2"),
    takesTrailers: true,
  }
}

/** The result of a request so far. */
export class Outcome {
  readonly call: UpstreamCall
  readonly informational: number[] = []
  status = 0
  content = ""
  trailers: string | undefined
  failure: UpstreamFailure | undefined
  writable = 0
  /** Resolves with the content, or the failure. */
  readonly ended: Promise<string>

  constructor(upstream: Upstream, request: OutgoingRequest) {
    let end: (how: string) => void = () => undefined
    this.ended = new Promise(resolve => {
      end = resolve
    })
    this.call = upstream.send(request, {
      onInformational: ({ status }) => {
        this.informational.push(status)
      },
      onResponse: ({ status }) => {
        this.status = status
      },
      onContent: (bytes, from, to) => {
        this.content += bytes.toString("latin1", from, to)
      },
      onEnd: trailers => {
        this.trailers = trailers?.get("x-sum")?.[0]
        end(this.content)
      },
      onFailure: failure => {
        this.failure = failure
        end(`failure: ${failure}`)
      },
      onPause: () => undefined,
      onWritable: () => {
        this.writable++
      },
    })
  }
}

/** Sends a complete request without content. */
export function send(upstream: Upstream, sent: Sent = {}): Outcome {
  const outcome = new Outcome(upstream, outgoing(sent))
  outcome.call.finishRequest([])
  outcome.call.flush()
  return outcome
}

/** Shorter than a test's timeout, so that the failure names the condition. */
const WAIT_LIMIT_MS = 100_000

export async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + WAIT_LIMIT_MS
  while (!holds()) {
    if (performance.now() > end)
      throw new Error(
        `timed out after ${WAIT_LIMIT_MS / 1000} s waiting until ${holds.toString().replace(/^.*?=>\s*/s, "")}`,
      )
    await new Promise(resolve => setTimeout(resolve, 1))
  }
}
