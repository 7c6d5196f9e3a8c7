// SPDX-License-Identifier: Apache-2.0
// Judges the request of a question as a proxy would: it queries the providers of CUSTOM policies first, then the
// current policies decide. An authorizer may be the provider of another one. So each query to a provider lists the
// authorizers that wait for the answer, and an authorizer that finds itself in the list sends no query.

import type { Judgement, Program } from "@merlon/policy/authorization"
import { FieldList, Http2Field } from "@merlon/wire"
import type { Fields, LocalReply } from "@merlon/wire/http"
import { callerKey } from "../enforcement/caller-key.js"
import type { Admission, Gate } from "../enforcement/gate.js"
import type { Judged, ProtocolError } from "../enforcement/verdict.js"
import type { Caller } from "../http/caller.js"
import { Consultation, type ConsultedRequest } from "../http/consultation.js"
import { withAnswers } from "../http/header-edits.js"
import type { Answers } from "../providers/providers.js"
import { changesOf, type RequestChanges } from "./answer.js"
import { unjoined } from "./joined-lines.js"
import type { Question } from "./question.js"

/** How many authorizers may wait for each other in a chain. */
const MAX_ASKED_BY = 4

export interface Verdict {
  readonly admission: Admission<Judged>
  /** The changes to an allowed request, or the denial. */
  readonly outcome: RequestChanges | LocalReply
}

export const DENIED: LocalReply = { status: 403, body: "access denied", fields: [] }

const NO_ANSWERS: readonly Answers[] = []

/**
 * `received`: the headers of the question itself. `done` is called once: before this function returns if no provider is
 * queried, and never after the returned function was called.
 */
export function judgeQuestion(
  caller: Caller,
  question: Question,
  { received, requestId }: { readonly received: Fields; readonly requestId: string },
  done: (verdict: Verdict) => void,
): () => void {
  const { gate, providers } = caller.services
  const { connection, request } = question
  if (isForAnother(question, gate.program)) {
    done(errorVerdict(caller, "other-target"))
    return () => undefined
  }
  const joinedNames = question.headerNames().filter(question.joinsLines)
  if (joinedNames.some(name => hidesToken(name, question, gate.program))) {
    done(errorVerdict(caller, "joined-header"))
    return () => undefined
  }
  const admission = gate.admit(connection, request)
  const rules = gate.toAsk(admission)
  // Fail closed: if there is no provider to query, the decision denies.
  if (rules.length === 0 || providers === undefined) {
    done(verdictOf(caller, question, admission, NO_ANSWERS))
    return () => undefined
  }
  const askedBy = waiting(received.get(gate.program.mesh.names.askedByHeader), caller)
  if (askedBy === undefined) {
    done(errorVerdict(caller, "asked-in-circle"))
    return () => undefined
  }
  const asked: ConsultedRequest = {
    connection,
    request,
    requestId,
    received: fieldsOf(question),
    caller: callerKey(connection),
    askedBy,
  }
  const consultation = new Consultation(gate, providers, asked, (decided, answers) =>
    done(verdictOf(caller, question, decided, answers)),
  )
  consultation.ask(admission, rules)
  return () => consultation.stop()
}

export function errorDenial(
  caller: Caller,
  error: ProtocolError,
): { readonly admission: Admission<Judged>; readonly reply: LocalReply } {
  const admission = caller.services.gate.denyProtocol(error)
  return { admission, reply: { ...DENIED, fields: caller.decisionField(admission.decisionId) } }
}

function errorVerdict(caller: Caller, error: ProtocolError): Verdict {
  const { admission, reply } = errorDenial(caller, error)
  return { admission, outcome: reply }
}

function verdictOf(
  caller: Caller,
  question: Question,
  admission: Admission<Judgement>,
  answers: readonly Answers[],
): Verdict {
  const { judgement } = admission
  if (judgement.verdict === "deny") return { admission, outcome: caller.rejection(admission) ?? DENIED }
  // The gateway forwards the path as it received it, so a path that normalises to another one must not pass.
  if (pathOf(judgement.target) !== pathOf(question.request.target)) return errorVerdict(caller, "respelled-path")
  const { gate } = caller.services
  if (isDeniedUnjoined(question, gate, admission)) return errorVerdict(caller, "joined-header")
  const { protectedHeaders } = gate.program
  const edited = { ...judgement, edits: withAnswers(judgement.edits, answers) }
  return { admission, outcome: changesOf(edited, question, name => protectedHeaders.dropsHeader(name)) }
}

/**
 * Whether the request takes a route other than those that the policies here are for: their ALLOW rules must not apply
 * to it.
 */
function isForAnother({ targets }: Question, { mesh, workload }: Program): boolean {
  return Object.values(mesh.names.gatewayLabels).some(
    label => Object.hasOwn(targets, label) && targets[label] !== workload.labels[label],
  )
}

/** Whether one of several lines that the gateway joined may contain a token. */
function hidesToken(name: string, { request }: Question, { tokens }: Program): boolean {
  const parts = request.headers.get(name)?.flatMap(line => line.split(",").slice(1)) ?? []
  if (parts.length === 0) return false
  const later = { get: (other: string) => (other === name ? parts : undefined) }
  return tokens.finder.find({ ...request, target: "/", headers: later }).spots.some(({ kind }) => kind === "header")
}

/** Whether a rule denies the request with its lines as they may have been before the gateway joined them. */
function isDeniedUnjoined(question: Question, gate: Gate, admission: Admission<Judgement>): boolean {
  const { protectedHeaders } = gate.program
  const { connection, request, joinsLines } = question
  const isJoined = (name: string) => request.headers.get(name)?.some(line => line.includes(",")) === true
  const read = question
    .headerNames()
    .filter(name => isJoined(name) && joinsLines(name) && protectedHeaders.readsHeader(name))
  // Most requests have no such header, and are judged once.
  if (read.length === 0) return false
  const requests = unjoined(request, new Set(read))
  // Fail closed: what takes too long to judge is denied.
  return requests === undefined || requests.some(each => gate.deniedNow(connection, each, admission) !== undefined)
}

/** Undefined if this authorizer is in the list already, or the list is too long. */
function waiting(lines: readonly string[] | undefined, { services }: Caller): readonly string[] | undefined {
  const { namespace, name } = services.gate.program.workload
  const before = (lines ?? []).flatMap(line => line.split(",")).map(each => each.trim())
  const own = `${namespace}/${name}`
  return before.length < MAX_ASKED_BY && !before.includes(own) ? [...before, own] : undefined
}

function fieldsOf({ request, headerNames }: Question): Fields {
  const names = [...new Set(headerNames())]
  return new FieldList(
    names.flatMap(name => (request.headers.get(name) ?? []).map(value => new Http2Field(name, value, false))),
  )
}

export function pathOf(target: string): string {
  const query = target.indexOf("?")
  return query < 0 ? target : target.slice(0, query)
}
