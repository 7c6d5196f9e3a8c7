// SPDX-License-Identifier: Apache-2.0
// One question of a gateway and its answer. The policies decide on the request that the gateway describes as they would
// on the request itself; nothing is forwarded. A question that cannot be read is denied.

import { type BorrowedBytes, copyOf, FieldList, Http2Field } from "@merlon/wire"
import {
  CHUNKED,
  type ExchangeStart,
  type FieldPairs,
  type HttpError,
  type LocalReply,
  REQUEST_ID_HEADER,
  type RequestHead,
  type Responder,
  requestId,
} from "@merlon/wire/http"
import type { readCheck, writeCheck } from "@merlon/xds/authz"
import type { Admission } from "../enforcement/gate.js"
import type { Judged, ProtocolError } from "../enforcement/verdict.js"
import { XSERVER_ERRORS } from "../errors.js"
import type { Caller } from "../http/caller.js"
import type { CallerExchange, NewExchange } from "../http/caller-connection.js"
import { errorReply, TOO_SLOW } from "../http/local-reply.js"
import { checkAllowance, checkDenial, httpAllowance } from "./answer.js"
import {
  type AuthzenEndpoint,
  authzenEndpoint,
  type EntitySearch,
  type Evaluation,
  type Malformed,
  readActionSearch,
  readEntitySearch,
  readEvaluations,
} from "./authzen.js"
import { actionsReply, entitiesReply, evaluationsReply, metadataReply } from "./authzen-answer.js"
import { allowedOf, evaluateAll } from "./authzen-run.js"
import { Gateways, type GatewayTrust } from "./gateway-trust.js"
import {
  ENVOY_HTTP_PREFIX,
  FORWARD_AUTH_PATH,
  HOST,
  ofCheck,
  ofEnvoyHttp,
  ofEvaluation,
  ofForwardAuth,
  type Question,
} from "./question.js"
import { DENIED, errorDenial, judgeQuestion, pathOf, type Verdict } from "./question-judge.js"
import { type Candidates, candidatesOf, type SearchedEntity, type SearchedPolicies } from "./search-candidates.js"

/** Gateways send headers, never content; by default Envoy accepts at most half as much in headers. */
const MAX_CHECK_BYTES = 128 * 1024
/** gRPC puts a flag and a length before each message. */
const GRPC_PREFIX = 5

const CHECK_PATH = "/envoy.service.auth.v3.Authorization/Check"
const JSON_CONTENT = /^application\/json[ \t]*(?:;|$)/i
const GRPC_HEAD = new FieldList([new Http2Field("content-type", "application/grpc", false)])
const GRPC_OK = new FieldList([new Http2Field("grpc-status", "0", false)])

/** Reads Envoy's questions and writes the answers to them. */
export interface CheckMessages {
  readonly readCheck: typeof readCheck
  readonly writeCheck: typeof writeCheck
}

/** Shared by all questions of a port. */
interface Asking {
  readonly trust: GatewayTrust
  readonly gateways: Gateways
  readonly messages: CheckMessages
  readonly searched: () => SearchedPolicies | undefined
}

export function answerQuestions(
  trust: GatewayTrust,
  messages: CheckMessages,
  searched: () => SearchedPolicies | undefined,
): NewExchange {
  const context = { trust, gateways: new Gateways(trust.gateways), messages, searched }
  return (caller, responder, head) => new QuestionExchange(caller, responder, head, context)
}

class QuestionExchange implements CallerExchange {
  readonly head: RequestHead
  readonly full = false
  readonly #caller: Caller
  readonly #responder: Responder
  readonly #context: Asking
  readonly #startedAt = performance.now()
  /** Content received so far, if the question has any. */
  readonly #parts: Buffer[] = []
  #bytesReceived = 0
  /** The question is complete and is being answered. */
  #read = false
  /** Set for a question by AuthZEN. */
  #endpoint: AuthzenEndpoint | undefined
  #question: Question | undefined
  #admission: Admission<Judged> | undefined
  #reply: LocalReply | undefined
  /** Cancels the queries to providers. */
  #stop: () => void = () => undefined
  #status = 0
  #state: "asked" | "answered" | "over" = "asked"

  constructor(caller: Caller, responder: Responder, head: RequestHead, context: Asking) {
    this.head = head
    this.#caller = caller
    this.#responder = responder
    this.#context = context
  }

  get responseStarted(): boolean {
    return this.#state !== "asked"
  }

  get over(): boolean {
    return this.#state === "over"
  }

  begin(): ExchangeStart {
    const { connection } = this.#caller
    const { target, method, version, framing } = this.head
    if (!this.#context.gateways.has(connection.peer, connection.sourceIp)) return this.#deny("unknown-gateway")
    if (target === CHECK_PATH && method === "POST" && version === "h2" && framing.kind !== "none") return "forwarded"
    this.#endpoint = authzenEndpoint(pathOf(target))
    if (this.#endpoint !== undefined) return this.#beginAuthzen(this.#endpoint)
    const isForwardAuth = pathOf(target) === FORWARD_AUTH_PATH
    const question = this.#httpQuestion(isForwardAuth)
    if (typeof question === "string") return this.#deny(question)
    this.#read = true
    let isBegun = false
    this.#judge(question, outcome => {
      const reply = this.#httpReply(outcome, isForwardAuth)
      if (isBegun) this.#answer(reply)
      else this.#reply = reply
    })
    isBegun = true
    return this.#reply === undefined ? "forwarded" : "rejected"
  }

  /** Writes the answer that `begin` found, which may allow the request. */
  reject(): void {
    if (this.#reply !== undefined) this.#answer(this.#reply)
  }

  content(bytes: BorrowedBytes, from: number, to: number): void {
    this.#bytesReceived += to - from
    if (this.#state !== "asked") return
    if (this.#bytesReceived <= MAX_CHECK_BYTES) this.#parts.push(copyOf(bytes, from, to))
    else this.#denyNow("unusable-question")
  }

  requestEnd(): void {
    if (this.#state !== "asked" || this.#read) return
    this.#read = true
    if (this.#endpoint === "evaluation" || this.#endpoint === "evaluations") {
      this.#answerEvaluations(this.#endpoint)
      return
    }
    if (this.#endpoint === "action-search") {
      this.#answerActionSearch()
      return
    }
    if (this.#endpoint === "subject-search" || this.#endpoint === "resource-search") {
      const entity = this.#endpoint === "subject-search" ? "subject" : "resource"
      this.#answerEntitySearch(entity).catch(() => this.#denyNow("unusable-question"))
      return
    }
    const question = this.#readCheck()
    if (typeof question === "string") {
      this.#denyNow(question)
      return
    }
    const { writeCheck } = this.#context.messages
    this.#judge(question, outcome => {
      const isAllowed = "setHeaders" in outcome
      const answer = isAllowed ? checkAllowance(outcome) : checkDenial(outcome)
      this.#answerCheck(writeCheck(answer), isAllowed ? 200 : outcome.status)
    })
  }

  flush(): void {}
  drained(): void {}
  judgeAgain(): void {
    // A question is decided by the policies that are current when it is complete.
  }

  endByChange(admission: Admission<Judged>): void {
    this.#admission = admission
    this.#answer({ ...DENIED, fields: this.#caller.decisionField(admission.decisionId) })
  }

  rejectContent(error: HttpError): void {
    this.#answer(errorReply(error, this.#denial("unusable-question").fields))
  }

  timedOut(): void {
    this.#answer(TOO_SLOW)
  }

  replyStatus(status: number): void {
    this.#status = status
  }

  abort(): void {
    this.finish()
  }

  finish(): void {
    if (this.#state === "over") return
    this.#state = "over"
    this.#stop()
    this.#record()
  }

  /** `done` gets the changes to an allowed request, or the denial. */
  #judge(question: Question, done: (outcome: Verdict["outcome"]) => void): void {
    this.#question = question
    const { headers } = this.head
    const asked = { received: headers, requestId: requestId(headers) }
    this.#stop = judgeQuestion(this.#caller, question, asked, ({ admission, outcome }) => {
      this.#admission = admission
      done(outcome)
    })
  }

  #httpReply(outcome: Verdict["outcome"], isForwardAuth: boolean): LocalReply {
    if (!("setHeaders" in outcome)) return outcome
    // These gateways copy headers from the answer but cannot remove any, so a forged one would reach the application.
    return isForwardAuth && outcome.forged.length > 0 ? this.#denial("forged-header") : httpAllowance(outcome)
  }

  #httpQuestion(isForwardAuth: boolean): Question | ProtocolError {
    const { connection } = this.#caller
    const { trust } = this.#context
    if (isForwardAuth) return ofForwardAuth(this.head, connection, trust)
    if (!this.head.target.startsWith(`${ENVOY_HTTP_PREFIX}/`)) return "unusable-question"
    return ofEnvoyHttp(this.head, connection, trust)
  }

  #readCheck(): Question | ProtocolError {
    const message = Buffer.concat(this.#parts)
    const isWhole = message.length >= GRPC_PREFIX && message[0] === 0 && message.readUInt32BE(1) === message.length - 5
    if (!isWhole) return "unusable-question"
    try {
      return ofCheck(
        this.#context.messages.readCheck(message.subarray(GRPC_PREFIX)),
        this.#caller.connection,
        this.#context.trust,
      )
    } catch {
      return "unusable-question"
    }
  }

  #beginAuthzen(endpoint: AuthzenEndpoint): ExchangeStart {
    const { method, host, headers, framing } = this.head
    if (this.#context.trust.authzen !== true) return this.#deny("no-authzen")
    if (endpoint === "metadata") {
      const isReadable = method === "GET" && host !== undefined && HOST.test(host)
      this.#reply = isReadable
        ? metadataReply(`${this.#caller.plaintext ? "http" : "https"}://${host}`)
        : this.#badRequest("use GET with a host")
    } else {
      const types = headers.get("content-type")
      const isJson = types?.length === 1 && JSON_CONTENT.test(types[0] ?? "")
      if (method === "POST" && isJson && framing.kind !== "none") return "forwarded"
      this.#reply = this.#badRequest("use POST with `content-type: application/json`")
    }
    return "rejected"
  }

  #answerEvaluations(endpoint: "evaluation" | "evaluations"): void {
    const asked = readEvaluations(Buffer.concat(this.#parts), endpoint)
    if ("malformed" in asked) {
      this.#answer(this.#badRequest(asked.malformed))
      return
    }
    const run = {
      evaluate: (item: Evaluation | Malformed, done: (outcome: Verdict["outcome"]) => void) =>
        this.#evaluate(item, done),
      // Each decision gets its own record; the last one is written at the end of the exchange.
      next: (status: number) => this.#recordEvaluation(status),
    }
    evaluateAll(asked, run, (answers, status) => this.#answer(evaluationsReply(answers, asked.isBatch), status))
  }

  #answerActionSearch(): void {
    const asked = readActionSearch(Buffer.concat(this.#parts))
    if ("malformed" in asked) {
      this.#answer(this.#badRequest(asked.malformed))
      return
    }
    allowedOf(
      asked,
      (item, done) => this.#evaluate(item, done),
      allowed => this.#answerSearch(actionsReply(allowed.map(({ method }) => method))),
    )
  }

  async #answerEntitySearch(entity: SearchedEntity): Promise<void> {
    const search = readEntitySearch(Buffer.concat(this.#parts), entity)
    if ("malformed" in search) {
      this.#answer(this.#badRequest(search.malformed))
      return
    }
    const found = search.isKnown ? await this.#candidates(entity, search) : { values: [] }
    if ("unlisted" in found) {
      this.#answer({
        ...this.#denial("unusable-question"),
        status: 501,
        body: `cannot list: ${inAscii(found.unlisted)}`,
      })
      return
    }
    const { after, limit } = search
    const left = found.values.filter(id => after === undefined || id > after)
    const page = left.slice(0, limit)
    const items = page.flatMap(id => {
      const evaluation = search.with(id)
      return "malformed" in evaluation ? [] : [{ ...evaluation, id }]
    })
    allowedOf(
      items,
      (item, done) => this.#evaluate(item, done),
      allowed => {
        const last = left.length > limit ? page.at(-1) : undefined
        const ids = allowed.map(({ id }) => id)
        this.#answerSearch(entitiesReply(search, ids, last))
      },
    )
  }

  async #candidates(entity: SearchedEntity, search: EntitySearch): Promise<Candidates> {
    if (search.type === "anonymous") return { values: [""] }
    // Without trust in the subject, no identity that policies could name is accepted.
    if (entity === "subject" && this.#context.trust.peer !== "subject") return { values: [] }
    const asked = search.with(entity === "subject" ? "spiffe://a/ns/a/sa/a" : "/")
    const policies = this.#context.searched()
    if ("malformed" in asked || policies === undefined) return { unlisted: "there is nothing to search" }
    // Loaded on demand: proxies and other authorizers need no proofs.
    const { reachOf } = await import("@merlon/policy/proof")
    const port = this.#caller.connection.destinationPort
    return candidatesOf(entity, { ...asked, port }, policies, reachOf, Date.now)
  }

  #answerSearch(reply: LocalReply): void {
    // The search is recorded, but no decision: none of the requests was made.
    this.#question = undefined
    this.#admission = undefined
    this.#answer(reply)
  }

  #evaluate(item: Evaluation | Malformed, done: (outcome: Verdict["outcome"]) => void): void {
    if ("malformed" in item) {
      done(this.#badRequest(item.malformed))
      return
    }
    const question = ofEvaluation(item, this.#caller.connection, this.#context.trust)
    if (typeof question === "string") {
      done(this.#explainedDenial(question))
      return
    }
    // A caller of AuthZEN need not remove headers.
    const isForged = (outcome: Verdict["outcome"]) => "setHeaders" in outcome && outcome.forged.length > 0
    this.#judge(question, outcome => done(isForged(outcome) ? this.#explainedDenial("forged-header") : outcome))
  }

  #explainedDenial(error: ProtocolError): LocalReply {
    return { ...this.#denial(error), body: XSERVER_ERRORS[error].cause }
  }

  #recordEvaluation(status: number): void {
    this.#status = status
    this.#record()
    this.#bytesReceived = 0
    this.#question = undefined
    this.#admission = undefined
  }

  #badRequest(reason: string): LocalReply {
    return { ...this.#denial("unusable-question"), status: 400, body: reason }
  }

  #deny(error: ProtocolError): ExchangeStart {
    this.#reply = this.#denial(error)
    return "rejected"
  }

  #denyNow(error: ProtocolError): void {
    this.#answer(this.#denial(error))
  }

  #denial(error: ProtocolError): LocalReply {
    const { admission, reply } = errorDenial(this.#caller, error)
    this.#admission = admission
    return reply
  }

  /** `status`: the status of the decision, if the answer itself has another one. */
  #answer(reply: LocalReply, status = reply.status): void {
    if (this.#state !== "asked") return
    this.#state = "answered"
    this.#stop()
    this.#status = status
    const { fields } = reply
    this.#responder.reply(this.#endpoint === undefined ? reply : { ...reply, fields: [...fields, ...this.#givenId()] })
  }

  /** AuthZEN: the answer must repeat the request id of the question. */
  #givenId(): FieldPairs {
    const given = this.head.headers.get(REQUEST_ID_HEADER)
    const id = requestId(this.head.headers)
    return given?.length === 1 && given[0] === id ? [[REQUEST_ID_HEADER, id]] : []
  }

  #answerCheck(message: Uint8Array, status: number): void {
    if (this.#state !== "asked") return
    this.#state = "answered"
    this.#status = status
    const framed = Buffer.alloc(GRPC_PREFIX + message.length)
    framed.writeUInt32BE(message.length, 1)
    framed.set(message, GRPC_PREFIX)
    this.#responder.respond({ status: 200, reason: "OK", headers: GRPC_HEAD, framing: CHUNKED, trailers: true })
    this.#responder.content(framed, 0, framed.length)
    this.#responder.end(GRPC_OK)
  }

  #record(): void {
    // A request for metadata involves no decision.
    if (this.#endpoint === "metadata" && this.#admission === undefined) return
    const { services, accepted } = this.#caller
    const { request, connection } = this.#question ?? {}
    const target = request?.target ?? this.head.target
    services.meters.requestDone({
      protocol: this.head.version,
      judgement: this.#admission?.judgement,
      decisionId: this.#admission?.decisionId,
      requestId: requestId(this.head.headers),
      method: request?.method ?? this.head.method,
      host: request?.host ?? this.head.host ?? "",
      path: pathOf(target),
      status: this.#status,
      bytesReceived: this.#bytesReceived,
      bytesSent: 0,
      durationMs: performance.now() - this.#startedAt,
      peer: (connection ?? accepted.connection).peer?.uri,
      source: (connection ?? accepted.connection).sourceIp.text,
      port: accepted.port.port,
      upstreamFailure: undefined,
    })
  }
}

/** For the body of a reply: an example may contain any character. */
function inAscii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?")
}
