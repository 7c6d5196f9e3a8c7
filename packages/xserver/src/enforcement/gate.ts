// SPDX-License-Identifier: Apache-2.0
// Every handler asks the gate before it forwards anything. The gate has the current program; replacing it is one
// assignment, so a request is judged by one program from start to end, and none starts under the old one afterwards.

import {
  type Connection,
  decide,
  type HttpRequest,
  type Judgement,
  judge,
  needsHttp,
  type Program,
  type ProviderReport,
  providersToAsk,
  type Reply,
  type RuleRef,
  rejectedByMode,
} from "@merlon/policy/authorization"
import { TokenMemory } from "@merlon/policy/tokens"
import { newDecisionId } from "./decision-id.js"
import type { Judged, ProtocolDenial, ProtocolError, RevokedPeer } from "./verdict.js"

export interface Admission<J> {
  readonly judgement: J
  /** Id for the decision header of a denial; undefined if the request is allowed. */
  readonly decisionId: string | undefined
  /** Time of the judgement, in seconds since the epoch. */
  readonly at: number
  /** Providers of CUSTOM policies that have allowed the request. */
  readonly allowedBy?: ReadonlySet<string>
}

export interface GateOptions {
  /** Seconds since the epoch. */
  readonly now?: () => number
  readonly memory?: TokenMemory
  /** Called with key sets that lack the key a token names; the receiver limits how often it fetches them. */
  readonly onUnknownKeys?: (keySetIds: readonly string[]) => void
}

export class Gate {
  #program: Program
  readonly #now: () => number
  readonly #memory: TokenMemory
  readonly #onUnknownKeys: (keySetIds: readonly string[]) => void
  /** The program behind each denial. Denials are explained later, when another program may be current. */
  readonly #deniedBy = new WeakMap<Judged, Program>()

  constructor(program: Program, options: GateOptions = {}) {
    this.#program = program
    this.#now = options.now ?? (() => Date.now() / 1_000)
    this.#memory = options.memory ?? new TokenMemory()
    this.#onUnknownKeys = options.onUnknownKeys ?? (() => undefined)
  }

  get program(): Program {
    return this.#program
  }

  swap(program: Program): void {
    this.#program = program
  }

  /**
   * `allowedBy`: providers of CUSTOM policies that have allowed the request. If `toAsk` names others, query them first.
   */
  admit(connection: Connection, request: HttpRequest, allowedBy?: ReadonlySet<string>): Admission<Judgement> {
    const at = this.#now()
    const judgement = judge(this.#program, connection, request, at, this.#memory, allowedBy)
    if ("authentication" in judgement && judgement.authentication.unknownKeys.length > 0) {
      this.#onUnknownKeys(judgement.authentication.unknownKeys)
    }
    const admission = this.#admission(judgement, at)
    return allowedBy === undefined ? admission : { ...admission, allowedBy }
  }

  /** The CUSTOM rules whose providers must be queried before this admission counts. */
  toAsk({ judgement, allowedBy }: Admission<Judgement>): readonly RuleRef[] {
    return providersToAsk(this.#program, judgement, allowedBy)
  }

  /** The admission of a request that a provider denied, in place of the earlier judgement. */
  deniedByProvider(
    judged: Extract<Judgement, { readonly attributes: unknown }>,
    reply: Reply,
    answers: readonly ProviderReport[],
    rule: RuleRef,
  ): Admission<Judgement> {
    const { attributes, authentication, decision } = judged
    const { audit, shadow } = decision
    return this.#admission({
      verdict: "deny",
      stage: "custom",
      reply,
      attributes,
      authentication,
      decision: { verdict: "deny", stage: "custom", policy: rule.policy, rule, audit, shadow, nearest: undefined },
      answers,
    })
  }

  /**
   * Judges a request in flight by the current program; undefined if it may continue. Its token is judged by the time at
   * which the request came, because only a change ends an admitted request, not the passing of time.
   */
  deniedNow(
    connection: Connection,
    request: HttpRequest,
    { at, allowedBy }: Admission<Judged>,
  ): Admission<Judgement> | undefined {
    const judgement = judge(this.#program, connection, request, at, this.#memory, allowedBy)
    return judgement.verdict === "deny" ? this.#admission(judgement, at) : undefined
  }

  /**
   * Judges a connection that carries no HTTP. On an `undeclared` port, a policy that judges HTTP admits only HTTP: a
   * client must not evade it by not being recognised as HTTP.
   */
  admitTcp(connection: Connection, undeclared: boolean): Admission<Judged> {
    const { peer, sourceIp, destinationIp, destinationPort, sni } = connection
    const mode = rejectedByMode(this.#program, connection)
    if (mode !== undefined) return this.#admission({ verdict: "deny", stage: "transport", mode, reply: undefined })
    if (undeclared && needsHttp(this.#program, destinationPort)) return this.denyProtocol("http-needed")
    const decision = decide(this.#program, {
      peer,
      sourceIp,
      remoteIp: sourceIp,
      destinationIp,
      destinationPort,
      sni,
      http: undefined,
      token: undefined,
    })
    const { verdict, stage } = decision
    return this.#admission({ verdict, stage, decision })
  }

  denyRevoked(): Admission<RevokedPeer> {
    return this.#admission(REVOKED)
  }

  denyProtocol(error: ProtocolError): Admission<ProtocolDenial> {
    return this.#admission({ verdict: "deny", stage: "protocol", error })
  }

  /** The program that denied the request; undefined if it was allowed. */
  deniedBy(judgement: Judged): Program | undefined {
    return this.#deniedBy.get(judgement)
  }

  #admission<J extends Judged>(judgement: J, at = this.#now()): Admission<J> {
    if (judgement.verdict === "allow") return { judgement, decisionId: undefined, at }
    this.#deniedBy.set(judgement, this.#program)
    return { judgement, decisionId: newDecisionId(), at }
  }
}

const REVOKED: RevokedPeer = Object.freeze({ verdict: "deny", stage: "revoked" })
