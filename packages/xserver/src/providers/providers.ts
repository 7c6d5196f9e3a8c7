// SPDX-License-Identifier: Apache-2.0
// The providers that the mesh declares, by name, with connections to those that have been used. Queries all that a
// request needs at once; the first of them that does not allow it decides.

import { isDeepStrictEqual } from "node:util"
import type { ProviderReport, RuleRef } from "@merlon/policy/authorization"
import type { AuthorizationProvider } from "@merlon/policy/mesh"
import type { Deadlines, FieldPairs } from "@merlon/wire/http"
import { failed, PROVIDER_FAILURES, type ProviderAnswer } from "./answer.js"
import { authzenProtocol } from "./authzen.js"
import { type CheckMessages, grpcProtocol } from "./grpc.js"
import { httpProtocol } from "./http.js"
import type { ProviderProtocol } from "./protocol.js"
import { ProviderClient } from "./provider-client.js"
import type { ProviderQuestion } from "./question.js"

export interface Answers {
  /** The answers, in the order of the rules that named the providers. */
  readonly reports: readonly ProviderReport[]
  /** The first answer that does not allow the request; undefined if all do. */
  readonly rejection:
    | { readonly rule: RuleRef; readonly status: number; readonly body: string; readonly headers: FieldPairs }
    | undefined
  readonly setHeaders: FieldPairs
  readonly removeHeaders: readonly string[]
}

const FAILED = { status: 403, body: "RBAC: access denied", headers: [] } as const

export class Providers {
  readonly #deadlines: Deadlines
  readonly #clients = new Map<string, ProviderClient>()
  #grpc: ProviderProtocol | undefined

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines
  }

  /** Keeps connections to providers whose declaration did not change. */
  async use(providers: readonly AuthorizationProvider[]): Promise<void> {
    // Envoy's messages are loaded when a provider needs them: most proxies do not.
    if (providers.some(({ protocol }) => protocol === "grpc")) this.#grpc ??= grpcProtocol(await checkMessages())
    const declared = new Map(providers.map(provider => [provider.name, provider]))
    for (const [name, client] of this.#clients) {
      if (isDeepStrictEqual(client.provider, declared.get(name))) declared.delete(name)
      else this.#forget(name, client)
    }
    for (const [name, provider] of declared) {
      const protocol = this.#protocolOf(provider)
      if (protocol !== undefined) this.#clients.set(name, new ProviderClient(provider, protocol, this.#deadlines))
    }
  }

  /** `done` is called once, asynchronously, and never after the returned function was called. */
  ask(rules: readonly RuleRef[], question: ProviderQuestion, done: (answers: Answers) => void): () => void {
    const answers = new Map<number, ProviderAnswer>()
    const stops = rules.map((rule, at) => {
      const answered = (answer: ProviderAnswer): void => {
        answers.set(at, answer)
        if (answers.size === rules.length) done(this.#concluded(rules, answers))
      }
      const client = this.#clients.get(rule.provider ?? "")
      if (client !== undefined) return client.ask(question, answered)
      const soon = setImmediate(() => answered(failed("undeclared")))
      return () => clearImmediate(soon)
    })
    return () => {
      for (const stop of stops) stop()
    }
  }

  close(): void {
    for (const [name, client] of this.#clients) this.#forget(name, client)
  }

  /** Undefined for gRPC, until its messages are loaded. */
  #protocolOf({ protocol }: AuthorizationProvider): ProviderProtocol | undefined {
    switch (protocol) {
      case "grpc":
        return this.#grpc
      case "http":
        return httpProtocol
      case "authzen":
        return authzenProtocol
    }
  }

  #forget(name: string, client: ProviderClient): void {
    this.#clients.delete(name)
    client.close()
  }

  #concluded(rules: readonly RuleRef[], answers: ReadonlyMap<number, ProviderAnswer>): Answers {
    const each = rules.map((rule, at) => {
      const answer = answers.get(at) ?? failed("undeclared")
      return { rule, answer, isOpen: this.#clients.get(rule.provider ?? "")?.provider.failureMode === "open" }
    })
    const rejected = each.find(
      ({ answer, isOpen }) => answer.outcome === "denied" || (answer.outcome === "failed" && !isOpen),
    )
    const allowed = each.flatMap(({ answer }) => (answer.outcome === "allowed" ? [answer] : []))
    return {
      reports: each.map(({ rule, answer, isOpen }) => reportOf(rule, answer, isOpen)),
      // Fail closed: no usable answer denies, unless the provider's declaration says otherwise.
      rejection: rejected && {
        rule: rejected.rule,
        ...(rejected.answer.outcome === "denied" ? rejected.answer : FAILED),
      },
      setHeaders: allowed.flatMap(({ setHeaders }) => setHeaders),
      removeHeaders: allowed.flatMap(({ removeHeaders }) => removeHeaders),
    }
  }
}

function reportOf(rule: RuleRef, answer: ProviderAnswer, isOpen: boolean): ProviderReport {
  const { outcome } = answer
  const detail =
    outcome === "failed"
      ? `${PROVIDER_FAILURES[answer.why]}${isOpen ? " (failure mode open)" : ""}`
      : outcome === "denied"
        ? `status ${answer.status}`
        : ""
  return { provider: rule.provider ?? "", rule, outcome, detail }
}

function checkMessages(): Promise<CheckMessages> {
  return import("@merlon/xds/authz")
}
