// SPDX-License-Identifier: Apache-2.0
// Judges a hypothetical request: compiles the documents for the workload and calls `judge` as a proxy does. Test keys
// replace the issuers' keys, so that a token can be described by its claims.

import type { Verdict } from "../authorization/decision.js"
import { explainAuthorization, type Trace } from "../authorization/explain.js"
import type { RuleRef } from "../authorization/rule.js"
import { type Judgement, judge, rejectedByMode } from "../judge.js"
import type { MeshConfig } from "../mesh/config.js"
import type { EffectiveMode } from "../peer/mode.js"
import { compile, type Program } from "../program.js"
import { signedToken, withReplayKeys } from "../proof/replay-keys.js"
import { keysOf } from "../proof/token-rules.js"
import type { Attributes } from "../request/attributes.js"
import type { PolicyDocument } from "../resources/document.js"
import { select } from "../selection/select.js"
import type { Workload } from "../selection/workload.js"
import type { Authentication } from "../tokens/authenticate.js"
import type { KeySetLookup } from "../tokens/program.js"
import { connectionOf, type DescribedRequest, type DescribedToken, requestOf } from "./described-request.js"

export interface Answer {
  /** `depends`: allowed unless an external authorizer denies it. */
  readonly verdict: "allow" | "deny" | "depends"
  /** The stage that decided. */
  readonly stage: Judgement["stage"]
  /** The status of the reply; absent if the application replies, or if the connection is closed without a reply. */
  readonly status: number | undefined
  readonly body: string | undefined
  readonly mode: EffectiveMode
  /** The result of the token stage, if the request reached it. */
  readonly authentication: Authentication | undefined
  /** The input of authorization, if the request reached it. */
  readonly attributes: Attributes | undefined
  readonly trace: Trace | undefined
  readonly rule: RuleRef | undefined
}

export class Trial {
  readonly program: Program
  readonly #documents: readonly PolicyDocument[]
  readonly #workload: Workload
  readonly #mesh: MeshConfig
  readonly #now: number

  /**
   * `now` in seconds since the epoch. With `keys`, tokens are verified with the issuers' own keys, both inline ones and
   * those looked up. Otherwise test keys replace them, and only tokens that are described by their claims can be valid.
   */
  constructor(
    documents: readonly PolicyDocument[],
    workload: Workload,
    mesh: MeshConfig,
    now: number,
    keys?: KeySetLookup,
  ) {
    this.#documents = documents
    this.#workload = workload
    this.#mesh = mesh
    this.#now = now
    this.program =
      keys === undefined ? compile(withReplayKeys(documents), workload, mesh) : compile(documents, workload, mesh, keys)
  }

  ask(asked: DescribedRequest): Answer {
    const connection = connectionOf(asked)
    const { mode } = this.program.peers.resolve(connection.destinationPort)
    if (asked.protocol === "tcp") {
      if (rejectedByMode(this.program, connection) !== undefined) return closed(mode)
      const attributes = { ...connection, remoteIp: connection.sourceIp, http: undefined, token: undefined }
      return this.#authorized(attributes, mode, undefined)
    }
    const host = `${this.#workload.name}.${this.#workload.namespace}`
    const request = requestOf(asked, host, token => this.#signed(token))
    const judgement = judge(this.program, connection, request, this.#now)
    switch (judgement.stage) {
      case "transport":
        return closed(mode)
      case "path":
      case "internal":
        return { ...closed(mode), stage: judgement.stage, ...reply(judgement) }
      case "token":
        return { ...closed(mode), stage: "token", ...reply(judgement), authentication: judgement.authentication }
      default:
        return this.#authorized(judgement.attributes, mode, judgement.authentication)
    }
  }

  #authorized(attributes: Attributes, mode: EffectiveMode, authentication: Authentication | undefined): Answer {
    const trace = explainAuthorization(this.program.authorization, attributes)
    const verdict = verdictOf(trace)
    const isAnswered = verdict === "deny" && attributes.http !== undefined
    const answered = isAnswered ? this.program.denyReplies.ofAuthorization(trace) : undefined
    return {
      verdict,
      stage: trace.stage,
      status: answered?.status,
      body: answered?.body,
      mode,
      authentication,
      attributes,
      trace,
      rule: trace.rule,
    }
  }

  /** The text of the token as the request would carry it. */
  tokenText({ token }: DescribedRequest): string | undefined {
    return token === undefined || typeof token === "string" ? token : this.#signed(token)
  }

  #signed({ claims, expired, forged }: DescribedToken): string {
    const times = expired ? { exp: this.#now - 3600 } : {}
    const key = forged ? undefined : this.#keyFor(claims.iss)
    const token = { place: "", claims: { ...claims, ...times }, expires: !expired && claims.exp === undefined }
    return signedToken(key === undefined ? token : { ...token, key }, this.#now)
  }

  /** The replay key of the issuer. */
  #keyFor(issuer: unknown): string | undefined {
    const rules = select("RequestAuthentication", this.#documents, this.#workload, this.#mesh).flatMap(
      ({ spec }) => spec.jwtRules ?? [],
    )
    const own = rules.find(rule => rule.issuer === issuer) ?? rules.find(rule => rule.issuer === undefined)
    return own && keysOf(own)[0]
  }
}

export function verdictOf({ verdict, stage }: Verdict): Answer["verdict"] {
  if (stage === "custom") return "depends"
  return verdict === "allow" ? "allow" : "deny"
}

function closed(mode: EffectiveMode): Answer {
  return {
    verdict: "deny",
    stage: "transport",
    status: undefined,
    body: undefined,
    mode,
    authentication: undefined,
    attributes: undefined,
    trace: undefined,
    rule: undefined,
  }
}

const reply = ({
  reply: { status, body },
}: {
  readonly reply: { readonly status: number; readonly body: string }
}) => ({
  status,
  body,
})
