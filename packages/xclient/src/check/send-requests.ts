// SPDX-License-Identifier: Apache-2.0
// Sends a number of requests one after the other and counts which destination answers. A response with a status of 400
// or more counts both for the split and as a failure.

import { CallFailure } from "../call/call-failure.js"
import type { OwnRequest } from "../http/own-call.js"
import type { RequestCalls } from "../http/request-calls.js"
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

const SHOWN = 120

export async function sendRequests(
  { call, target, count, intervalMs, timeoutMs }: RequestPlan,
  routing: () => HostRouting | undefined,
  requests: RequestCalls,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const headers = new Map([["host", hostHeader(target)], ...call.headers])
  const request: OwnRequest = { method: call.method, target: call.target, headers }
  for (let index = 0; index < count && !signal.aborted; index++) {
    if (index > 0 && intervalMs > 0) await pause(intervalMs, signal)
    const current = routing()
    if (current === undefined) tally.failed("the route was removed")
    else await sendOne(current, requests, request, timeoutMs, tally)
  }
}

async function sendOne(
  routing: HostRouting,
  requests: RequestCalls,
  request: OwnRequest,
  timeoutMs: number,
  tally: Tally,
): Promise<void> {
  try {
    const { name, status, body } = await requests.send(routing, request, timeoutMs)
    tally.answered(name, status)
    if (status >= 400) tally.failed(`\`${name}\` answered ${status}${firstLine(body)}`)
  } catch (error) {
    tally.failed(CallFailure.of(error).message)
  }
}

function firstLine(body: string): string {
  // Servers choose the body, and terminals interpret control characters.
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
