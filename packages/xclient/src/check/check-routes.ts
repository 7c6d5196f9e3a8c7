// SPDX-License-Identifier: Apache-2.0
// The check tool: prints routes, follows them, or sends requests and compares which destinations answered with the
// expectation. Returns the exit code: 0 if everything is as expected.

import type { RequestCalls } from "../http/request-calls.js"
import { authorityOf } from "../routes/authority.js"
import type { Call } from "../routes/call.js"
import { HostRouting } from "../routes/host-routing.js"
import type { KnownRoutes, RouteAnswer } from "../routes/known-routes.js"
import { isExpectedCount, isSameSplit, type Shares, showShares } from "./expectation.js"
import { destinationsOf, isComplete, routeView, sharesOf, watchLine } from "./route-view.js"
import { sendRequests } from "./send-requests.js"
import { Tally } from "./tally.js"
import type { Target } from "./target.js"

export interface CheckOptions {
  readonly target: Target
  readonly action: "print-route" | "watch" | "send"
  readonly expected: Shares | undefined
  readonly requests: number
  readonly method: string
  readonly path: string
  readonly headers: ReadonlyMap<string, string>
  readonly requestIntervalMs: number
  readonly requestTimeoutMs: number
  readonly waitTimeoutMs: number
  readonly output: "text" | "json"
}

export interface CheckIo {
  /** Lines, without line breaks. */
  readonly out: (line: string) => void
  readonly err: (line: string) => void
  readonly signal: AbortSignal
}

export interface Member {
  readonly knownRoutes: KnownRoutes
  readonly requests: RequestCalls
  readonly problem: string | undefined
}

export async function checkRoutes(options: CheckOptions, member: Member, io: CheckIo): Promise<number> {
  const { target, action } = options
  const call: Call = { method: options.method, host: target.host, target: options.path, headers: options.headers }
  if (action === "watch") return watch(options, call, member, io)
  const routing = await waitForRoute(options, call, member, io)
  if (routing === undefined) return 1
  if (action === "print-route") {
    io.out(JSON.stringify(routeView(routing, call), undefined, 2))
    return 0
  }
  return send(options, call, routing, member, io)
}

async function waitForRoute(
  { target, expected, waitTimeoutMs }: CheckOptions,
  call: Call,
  member: Member,
  io: CheckIo,
): Promise<HostRouting | undefined> {
  const name = authorityOf(target.host, target.port)
  const isReady = (answer: RouteAnswer) =>
    answer instanceof HostRouting &&
    isComplete(answer, call) &&
    (expected === undefined || isSameSplit(sharesOf(answer, call), expected))
  const { answer, inTime } = await member.knownRoutes.until(name, isReady, waitTimeoutMs, io.signal)
  if (inTime && answer instanceof HostRouting) return answer
  for (const line of explainMissing(name, answer, call, expected, member.problem)) io.err(line)
  return undefined
}

function explainMissing(
  name: string,
  answer: RouteAnswer,
  call: Call,
  expected: Shares | undefined,
  problem: string | undefined,
): readonly string[] {
  const notFound = `route not found for ${name} from ADS stream`
  if (answer === "unknown") return [notFound, ...(problem === undefined ? [] : [problem])]
  if (answer === "absent")
    return [notFound, "no Service and no MeshService has this host and port; see `kubectl get svc,ms -A`"]
  const destinations = destinationsOf(answer, call)
  if (destinations.length === 0) return [notFound, `no route matches ${call.method} ${call.target}`]
  const shares = sharesOf(answer, call)
  if (expected !== undefined && !isSameSplit(shares, expected)) {
    return [`route weights ${showShares(shares)} did not match expected ${showShares(expected)}`]
  }
  const empty = destinations.filter(({ weight, cluster }) => weight > 0 && cluster.endpoints.length === 0)
  return [notFound, `without endpoints: ${empty.map(destination => destination.name).join(", ") || "all are drained"}`]
}

function watch({ target }: CheckOptions, call: Call, { knownRoutes }: Member, io: CheckIo): Promise<number> {
  const name = authorityOf(target.host, target.port)
  const show = (answer: RouteAnswer) => {
    if (answer === "absent") io.out(`${name} route not found`)
    else if (answer !== "unknown") io.out(watchLine(answer, call))
  }
  return new Promise(resolve => {
    const stop = knownRoutes.onChange(names => {
      if (names.has(name)) show(knownRoutes.ask(name))
    })
    const finish = () => {
      stop()
      resolve(0)
    }
    io.signal.addEventListener("abort", finish, { once: true })
    show(knownRoutes.ask(name))
    if (io.signal.aborted) finish()
  })
}

async function send(
  options: CheckOptions,
  call: Call,
  first: HostRouting,
  { knownRoutes, requests: calls }: Member,
  io: CheckIo,
): Promise<number> {
  const { target, requests: count, requestIntervalMs: intervalMs, requestTimeoutMs: timeoutMs, expected } = options
  const name = authorityOf(target.host, target.port)
  const tally = new Tally(destinationsOf(first, call).map(destination => destination.name))
  const routing = () => {
    const answer = knownRoutes.ask(name)
    return answer instanceof HostRouting ? answer : undefined
  }
  await sendRequests({ call, target, count, intervalMs, timeoutMs }, routing, calls, tally, io.signal)
  const isExpected = expected === undefined || isExpectedCount(tally.counts, expected)
  report(options, first, tally, isExpected, io)
  // Fail closed: half a check proves nothing, so an abort must not look like a success.
  if (io.signal.aborted) {
    io.err("stopped before all requests were sent")
    return 1
  }
  return isExpected && tally.failureCount === 0 ? 0 : 1
}

function report(
  { output, target, requests, expected }: CheckOptions,
  routing: HostRouting,
  tally: Tally,
  isExpected: boolean,
  { out, err }: CheckIo,
): void {
  const { destinations, failures, failureCount: failed } = tally
  if (output === "json") {
    const { host } = routing.spec.table
    const match = expected === undefined ? {} : { expected: Object.fromEntries(expected), asExpected: isExpected }
    out(JSON.stringify({ host, port: target.port, requests, failed, destinations, failures, ...match }, undefined, 2))
  } else {
    for (const { name, answered, share } of destinations) out(`${name} ${answered} ${share}%`)
  }
  if (failed > 0) err(`${failed} of ${requests} requests failed`)
  for (const { reason, count } of failures) err(`  ${count} × ${reason}`)
  if (expected !== undefined && !isExpected) {
    err(`answers ${showShares(tally.counts)} did not match the expected split ${showShares(expected)}`)
  }
}
