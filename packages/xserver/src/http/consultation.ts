// SPDX-License-Identifier: Apache-2.0
// Queries the providers of the CUSTOM rules that match a request, then judges the request again by the current
// policies: they may have changed meanwhile and require other providers. Calls `concluded` once, with the admission
// that counts, unless it is stopped.

import type { Connection, HttpRequest, Judgement, ProviderReport, RuleRef } from "@merlon/policy/authorization"
import type { Fields } from "@merlon/wire/http"
import type { Admission, Gate } from "../enforcement/gate.js"
import type { Answers, Providers } from "../providers/providers.js"

/** How often providers are queried about one request if policies change while they answer. */
const MAX_ROUNDS = 3

export type Concluded = (admission: Admission<Judgement>, answers: readonly Answers[]) => void

export interface ConsultedRequest {
  readonly connection: Connection
  readonly request: HttpRequest
  readonly requestId: string
  /** The request headers as they were received. */
  readonly received: Fields
  /** The caller whose share of a provider's limits the query counts against. */
  readonly caller: string
  /** The authorizers that wait for the query, this one included; absent for a proxy. */
  readonly askedBy?: readonly string[]
}

export class Consultation {
  readonly #gate: Gate
  readonly #providers: Providers
  readonly #request: ConsultedRequest
  readonly #concluded: Concluded
  readonly #answers: Answers[] = []
  /** Cancels the queries. */
  stop: () => void = () => undefined

  constructor(gate: Gate, providers: Providers, asked: ConsultedRequest, concluded: Concluded) {
    this.#gate = gate
    this.#providers = providers
    this.#request = asked
    this.#concluded = concluded
  }

  ask(admission: Admission<Judgement>, rules: readonly RuleRef[]): void {
    const { judgement } = admission
    if (!("attributes" in judgement) || judgement.attributes.http === undefined) return
    const { mesh, protectedHeaders } = this.#gate.program
    const { http } = judgement.attributes
    const question = { ...this.#request, http, protectedHeaders, askedByHeader: mesh.names.askedByHeader }
    this.stop = this.#providers.ask(rules, question, answers => this.#answered(judgement, answers))
  }

  #answered(judged: Authorized, answers: Answers): void {
    const gate = this.#gate
    this.#answers.push(answers)
    const reports = this.#answers.flatMap(round => round.reports)
    const { rejection } = answers
    if (rejection !== undefined) {
      const { rule, status, body, headers } = rejection
      const reply = { status, body, headers, challenge: undefined }
      this.#concluded(gate.deniedByProvider(judged, reply, reports, rule), this.#answers)
      return
    }
    const allowedBy = new Set(reports.map(({ provider }) => provider))
    const admission = gate.admit(this.#request.connection, this.#request.request, allowedBy)
    const rules = gate.toAsk(admission)
    // Fail closed: if a provider still has to be queried, the judgement denies.
    if (rules.length > 0 && this.#answers.length < MAX_ROUNDS) this.ask(admission, rules)
    else this.#concluded(withReports(admission, reports), this.#answers)
  }
}

type Authorized = Extract<Judgement, { readonly attributes: unknown }>

function withReports(admission: Admission<Judgement>, answers: readonly ProviderReport[]): Admission<Judgement> {
  const { judgement } = admission
  return "attributes" in judgement ? { ...admission, judgement: { ...judgement, answers } } : admission
}
