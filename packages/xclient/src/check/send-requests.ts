// SPDX-License-Identifier: Apache-2.0
// Sends a number of requests one after the other and counts who answers. An answer of 400 or more counts for the split
// and as a failure: somebody answered, but not what was asked for.

import type { IncomingMessage } from "node:http"
import { CallFailure } from "../call/call-failure.js"
import type { Exchange, Outbound } from "../call/outbound.js"
import { authorityOf } from "../routes/authority.js"
import type { Call } from "../routes/call.js"
import type { HostRouting } from "../routes/host-routing.js"
import type { Tally } from "./tally.js"
import type { Target } from "./target.js"

export interface RequestPlan {
  readonly call: Call
  readonly target: Target
  readonly count: number
  readonly intervalMs: number
  readonly timeoutMs: number
}

/** What is read of an answer; the rest is let go. */
const MAX_BODY = 10 * 1_048_576
const SHOWN = 120

export async function sendRequests(
  { call, target, count, intervalMs, timeoutMs }: RequestPlan,
  routing: () => HostRouting | undefined,
  outbound: Outbound,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const headers = { host: hostHeader(target), ...Object.fromEntries(call.headers) }
  for (let index = 0; index < count && !signal.aborted; index++) {
    if (index > 0 && intervalMs > 0) await pause(intervalMs, signal)
    const current = routing()
    if (current === undefined) tally.failed("the route has gone")
    else await sendOne(current, outbound, call, headers, timeoutMs, tally)
  }
}

async function sendOne(
  routing: HostRouting,
  outbound: Outbound,
  call: Call,
  headers: { readonly [name: string]: string },
  timeoutMs: number,
  tally: Tally,
): Promise<void> {
  try {
    const { name, status, body } = await inTime(timeoutMs, onOpen => answerTo(routing, outbound, call, headers, onOpen))
    tally.answered(name, status)
    if (status >= 400) tally.failed(`\`${name}\` answered ${status}${firstLine(body)}`)
  } catch (error) {
    tally.failed(CallFailure.of(error).message)
  }
}

async function answerTo(
  routing: HostRouting,
  outbound: Outbound,
  call: Call,
  headers: { readonly [name: string]: string },
  onOpen: (exchange: Exchange) => void,
) {
  const { choice, response } = await outbound.send(routing, call, headers, onOpen)
  const body = await bodyOf(response)
  return { name: choice.name, status: response.statusCode ?? 0, body }
}

/** Whatever takes longer is given up, be it the connection, the answer or its end. */
function inTime<T>(timeoutMs: number, work: (onOpen: (exchange: Exchange) => void) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let open: Exchange | undefined
    let isLate = false
    const late = new CallFailure("too-late", `no answer within ${timeoutMs} ms`)
    const timer = setTimeout(() => {
      isLate = true
      reject(late)
      open?.request.destroy(late)
    }, timeoutMs)
    const onOpen = (exchange: Exchange) => {
      open = exchange
      if (isLate) exchange.request.destroy(late)
    }
    work(onOpen)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer))
  })
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  let kept = ""
  let size = 0
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) {
    size += chunk.length
    if (kept.length < SHOWN) kept += chunk
    // Leaving the loop ends the connection: what never ends must not be read for ever.
    if (size > MAX_BODY) break
  }
  return kept
}

function firstLine(body: string): string {
  // Servers choose what they answer, and terminals obey control characters.
  const line = (body.split("\n")[0] ?? "")
    .replace(/[^\x20-\x7e\u00a0-\uffff]/g, "")
    .slice(0, SHOWN)
    .trim()
  return line === "" ? "" : `: ${line}`
}

function hostHeader({ host, port }: Target): string {
  return port === 80 ? authorityOf(host, port).replace(/:80$/, "") : authorityOf(host, port)
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener("abort", finish)
      resolve()
    }
    const timer = setTimeout(finish, milliseconds)
    signal.addEventListener("abort", finish, { once: true })
  })
}
