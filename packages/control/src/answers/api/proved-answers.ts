// SPDX-License-Identifier: Apache-2.0
// Answers that are proved or evaluated on the stored policies with those of the query on top. The query is parsed here
// and evaluated in the proof thread, where each user has a share. An answer that is not decided in time says so.

import type { ObservedCall } from "@merlon/policy/ledger"
import type { MeshConfig } from "@merlon/policy/mesh"
import { readDescribedRequest } from "@merlon/policy/policy-tests"
import { workloadsCalled } from "@merlon/policy/proof"
import { type PolicyDocument, validate } from "@merlon/policy/resources"
import { RequestDescriptionError } from "@merlon/policy/trial"
import { proofWorkload } from "../../proofs/proof-workload.js"
import type { Prover } from "../../proofs/prover.js"
import type { UserQuery } from "../../proofs/question.js"
import { type Foreign, listOf, objectOf, textOf } from "../../registry/foreign.js"
import type { MeshDirectory } from "../../registry/mesh-directory.js"
import { workloadName } from "../workload-names.js"
import { AnswersApiError, badRequest, notFound } from "./answers-api-error.js"
import type { HistoryAnswers, TwoMoments } from "./history-answers.js"
import type { Question } from "./question.js"

export interface ProvedSources {
  readonly mesh: MeshConfig
  readonly directory: Pick<MeshDirectory, "workloads">
  readonly prover: Pick<Prover, "ask">
  /** Recorded calls of all workloads. */
  readonly calls: () => readonly ObservedCall[]
  readonly history: Pick<HistoryAnswers, "between">
}

const MAX_DOCUMENTS = 200
const MAX_CALLS = 300

export class ProvedAnswers {
  readonly #sources: ProvedSources

  constructor(sources: ProvedSources) {
    this.#sources = sources
  }

  /** `spec` is that of the body; the query counts against the share of `user`. */
  async answer(question: Question, spec: unknown, user: string): Promise<object> {
    const fields = objectOf(spec)
    const read = this.#read(question, fields)
    const moments = await this.#moments(read, fields)
    // Fail closed: nothing is proved about unknown policies.
    if (moments !== undefined && moments.gaps.length > 0) return unknownMoment(moments.gaps)
    const between = moments && { since: moments.from, ...moments.to, ...this.#callsNear(moments.from) }
    const answer = await this.#sources.prover.ask({ ...read, ...between }, user)
    if ("answer" in answer) return answer.answer
    if ("error" in answer) throw badRequest(answer.error)
    const message = `not decided: ${answer.notDecided}; retry, or use \`merlonctl\`, which analyzes on your machine`
    throw new AnswersApiError(429, "TooManyRequests", message)
  }

  /** The two moments that the query compares; undefined if it is about the stored policies. */
  #moments(question: UserQuery, { since, until }: Foreign): Promise<TwoMoments> | undefined {
    if (since === undefined && until === undefined) return undefined
    if (question.what !== "diffs") throw badRequest("spec.since: only `diffs` can compare two times")
    if (question.documents.length + question.remove.length > 0) {
      throw badRequest("spec.since: compare two times or documents with the stored ones, not both")
    }
    return this.#sources.history.between(since, until, question.namespace)
  }

  #read({ resource, namespace }: Question, spec: Foreign): UserQuery {
    const question = {
      ask: "people" as const,
      ...(namespace === undefined ? {} : { namespace }),
      documents: this.#documents(spec, namespace),
      remove: listOf(spec.remove).flatMap(value => textOf(value) ?? []),
    }
    switch (resource.name) {
      case "diffs":
        return { ...question, what: "diffs", ...this.#callsNear(question) }
      case "analyses":
        return { ...question, what: "analyses" }
      case "reach":
        return { ...question, what: "reach", principal: principalIn(spec) }
      case "callers":
        return {
          ...question,
          what: "callers",
          workload: this.#workload(spec, namespace),
          operation: operationOf(objectOf(spec.operation)),
        }
      case "suggestions": {
        const workload = this.#workload(spec, namespace)
        const known = this.#sources.directory.workloads.get(workload)
        const called = known === undefined ? workload : workloadName(known)
        const calls = this.#sources.calls().filter(call => call.workload === called)
        return { ...question, what: "suggestions", workload, calls }
      }
      case "explanations":
        return {
          ...question,
          what: "explanations",
          workload: this.#workload(spec, namespace),
          request: requestIn(spec),
        }
      default:
        throw badRequest(`\`${resource.name}\` does not support create`)
    }
  }

  /** The most frequent recorded calls that a change of these policies may affect. Trying all would take too long. */
  #callsNear({ documents, remove }: Pick<UserQuery, "documents" | "remove">) {
    const named = [...documents.map(({ metadata }) => metadata.namespace), ...remove.map(key => key.split("/")[1])]
    const namespaces = new Set(named)
    const isNear = ({ workload }: ObservedCall): boolean =>
      namespaces.has(this.#sources.mesh.names.rootNamespace) || namespaces.has(workload.slice(0, workload.indexOf("/")))
    const near = this.#sources.calls().filter(isNear)
    const calls = near.sort((a, b) => b.count - a.count).slice(0, MAX_CALLS)
    return { calls, callsLeftOut: near.length - calls.length }
  }

  #documents(spec: Foreign, namespace: string | undefined): readonly PolicyDocument[] {
    const given = listOf(spec.documents)
    if (given.length > MAX_DOCUMENTS) throw badRequest(`spec.documents: at most ${MAX_DOCUMENTS} at once`)
    return given.map((value, index) => {
      const { document, errors } = validate(value, this.#sources.mesh.names)
      if (document === undefined) throw badRequest(`spec.documents[${index}]: ${errors[0]?.message ?? "is no policy"}`)
      if (namespace !== undefined && document.metadata.namespace !== namespace) {
        const next = "query without a namespace"
        throw badRequest(`spec.documents[${index}]: is in another namespace than \`${namespace}\`; ${next}`)
      }
      return document
    })
  }

  /** `namespace/name` of the one workload that the name means: that of a Pod, its controller, or a Service's. */
  #workload(spec: Foreign, namespace: string | undefined): string {
    const name = textOf(spec.workload)
    if (name === undefined) throw badRequest("spec.workload: name a workload")
    const all = [...this.#sources.directory.workloads.values()].map(proofWorkload)
    const near = namespace === undefined ? all : all.filter(one => one.namespace === namespace)
    const [found, ...others] = workloadsCalled(name, near, namespace)
    const where = namespace === undefined ? "; write `namespace/name`" : ` in \`${namespace}\``
    if (found === undefined) throw notFound(`there is no workload \`${name.slice(0, 200)}\`${where}`)
    if (others.length === 0) return `${found.namespace}/${found.name}`
    const listed = [found, ...others].slice(0, 8).map(one => `${one.namespace}/${one.name}`)
    throw badRequest(`spec.workload: \`${name.slice(0, 200)}\` may be ${listed.join(", ")}; write which`)
  }
}

const MAX_GAPS = 10

function unknownMoment(gaps: readonly string[]): object {
  const more = gaps.length - MAX_GAPS
  return {
    result: "undecided",
    read: { policies: 0, workloads: 0 },
    groups: [],
    gaps: [...gaps.slice(0, MAX_GAPS), ...(more > 0 ? [`and ${more} more`] : [])],
  }
}

function principalIn(spec: Foreign): string {
  const principal = textOf(spec.principal)?.replace(/^spiffe:\/\//, "")
  if (principal === undefined)
    throw badRequest("spec.principal: name an identity, such as `cluster.local/ns/app/sa/consumer`")
  return principal
}

function requestIn(spec: Foreign): NonNullable<UserQuery["request"]> {
  try {
    const request = readDescribedRequest(spec.request)
    if (typeof request.token !== "string") return request
  } catch (error) {
    throw error instanceof RequestDescriptionError ? badRequest(`spec.${error.message}`) : error
  }
  throw badRequest("spec.request.token: describe the token by its claims; tokens are not accepted here")
}

const OPERATION = ["methods", "paths", "hosts", "ports"] as const

/** An operation in the form of a rule. */
function operationOf(given: Foreign): object {
  const unknown = Object.keys(given).find(name => !OPERATION.some(known => known === name))
  if (unknown !== undefined) {
    throw badRequest(`spec.operation: unknown field \`${unknown.slice(0, 60)}\`; there are ${OPERATION.join(", ")}`)
  }
  const operation = Object.fromEntries(
    OPERATION.flatMap(name => {
      const values = listOf(given[name]).map(value => textOf(typeof value === "number" ? String(value) : value))
      if (values.includes(undefined)) throw badRequest(`spec.operation.${name}: must be a list of strings`)
      return values.length === 0 ? [] : [[name, values]]
    }),
  )
  return Object.keys(operation).length === 0 ? {} : { to: [{ operation }] }
}
