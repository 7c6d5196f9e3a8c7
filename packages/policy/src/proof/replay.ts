// SPDX-License-Identifier: Apache-2.0
// Replays a witness with the evaluator that proxies use. Every result of the search is replayed with every set of
// policies concerned before it is shown.

import type { Verdict } from "../authorization/decision.js"
import type { RuleRef } from "../authorization/rule.js"
import { type Connection, type HttpRequest, judge, rejectedByMode } from "../judge.js"
import { decide, type Program } from "../program.js"
import { byteText } from "../request/byte-text.js"
import { parseIp } from "../request/ip.js"
import { parseSpiffeId } from "../request/spiffe-id.js"
import type { Outcome } from "./outcome.js"
import type { PolicySide } from "./policy-side.js"
import { signedToken } from "./replay-keys.js"
import type { Witness } from "./witness.js"

export interface Replayed {
  /** `undefined` if the request would not reach the policies because it has no canonical path. */
  readonly outcome: Outcome | undefined
  /** The rule of an AuthorizationPolicy that decided. */
  readonly rule: RuleRef | undefined
  /** The providers that the result depends on, if the outcome is `custom`. */
  readonly providers: readonly string[]
}

export class Replay {
  readonly #side: PolicySide

  constructor(side: PolicySide) {
    this.#side = side
  }

  /** `now` in seconds since the epoch. */
  run(witness: Witness, now: number): Replayed {
    const connection = connectionOf(witness)
    if (connection === undefined) return NOTHING
    const program = this.#side.programFor(witness)
    if (witness.protocol === "tcp") return overTcp(program, connection)
    const judgement = judge(program, connection, requestOf(witness, now, program.mesh.numTrustedProxies), now)
    switch (judgement.stage) {
      case "transport":
        return { ...NOTHING, outcome: "transport" }
      case "token":
        return { ...NOTHING, outcome: "unauthenticated" }
      case "path":
      case "internal":
        return NOTHING
      default:
        return decided(judgement.decision)
    }
  }
}

function overTcp(program: Program, connection: Connection): Replayed {
  if (rejectedByMode(program, connection) !== undefined) return { ...NOTHING, outcome: "transport" }
  const attributes = { ...connection, remoteIp: connection.sourceIp, http: undefined, token: undefined }
  return decided(decide(program, attributes))
}

function decided({ verdict, stage, rule, asked = [] }: Verdict): Replayed {
  const outcome = verdict === "allow" ? "allow" : stage === "custom" ? "custom" : "deny"
  return { outcome, rule, providers: asked.flatMap(({ provider }) => provider ?? []).sort() }
}

const NOTHING: Replayed = { outcome: undefined, rule: undefined, providers: [] }

function connectionOf({ principal, sourceIp, destinationIp, port, sni }: Witness): Connection | undefined {
  const peer = principal === undefined ? undefined : parseSpiffeId(`spiffe://${principal}`)
  const [source, destination] = [parseIp(sourceIp), parseIp(destinationIp)]
  if (source === undefined || destination === undefined || (principal !== undefined && peer === undefined)) {
    return undefined
  }
  return { peer, sourceIp: source, destinationIp: destination, destinationPort: port, sni }
}

/** `proxies`: the number of trusted proxies in front of the workload, each of which appends the address it saw. */
function requestOf(witness: Witness, now: number, proxies: number): HttpRequest {
  const { method = "GET", scheme = "http", host, path = "/" } = witness
  const headers = new Map(
    Object.entries(witness.headers ?? {}).map(([name, lines]): [string, string[]] => [name, lines.map(byteText)]),
  )
  if (witness.remoteIp !== undefined) {
    const appended = Array.from({ length: proxies - 1 }, () => witness.sourceIp)
    headers.set("x-forwarded-for", [[witness.remoteIp, ...appended].join(", ")])
  }
  let target = path
  for (const token of [witness.token, witness.secondToken]) {
    if (token === undefined) continue
    const [kind, name = "", prefix = ""]: readonly string[] = JSON.parse(token.place)
    const text = signedToken(token, now)
    if (kind === "header") headers.set(name, [...(headers.get(name) ?? []), `${prefix}${text}`])
    else if (kind === "cookie") headers.set("cookie", [...(headers.get("cookie") ?? []), `${name}=${text}`])
    else target += `${target.includes("?") ? "&" : "?"}${encodeURIComponent(name)}=${text}`
  }
  return { method, scheme, host, target, headers }
}
