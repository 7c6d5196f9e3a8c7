// SPDX-License-Identifier: Apache-2.0
// The unary calls of a proxy: sign a certificate, report unknown keys.

import { create } from "@bufbuild/protobuf"
import {
  type ReportRequest,
  type ReportResponse,
  ReportResponseSchema,
  type SignCertificateRequest,
  type SignCertificateResponse,
  SignCertificateResponseSchema,
} from "../generated/merlon/mesh/v1/mesh_pb.js"
import { messageOf } from "../runtime/log.js"
import { within } from "../runtime/within.js"
import { type Method, report as reportMethod, signCertificate } from "../wire/methods.js"
import type { CallUser, GrpcCall } from "./grpc/call.js"
import type { ServerContext } from "./server-context.js"
import type { Caller, Rejection } from "./source.js"
import { exhausted, invalid, type StreamError } from "./stream-error.js"

export interface SignedCertificate {
  /** PEM, leaf first, without the root. */
  readonly certificateChain: string
  readonly trustBundle: string
}

export interface ProxyCalls {
  /** `ttlSeconds` is 0 if the caller requests no lifetime. */
  readonly sign: (
    caller: Caller,
    request: Uint8Array,
    ttlSeconds: number,
    nodeId: string,
  ) => Promise<SignedCertificate | Rejection>
  readonly report: (caller: Caller, nodeId: string, unknownKeys: readonly string[]) => void
}

/** Larger than a signing request with any type of key in use. */
const SIGNING_REQUEST_BYTES = 16 * 1024
const REPORTED_KEYS = 1_000
/** An issuer and a URI of the maximum length in policies, with each character escaped. */
const KEY_SET_ID_LENGTH = 32 * 1024

export function proxyService(context: ServerContext, { sign, report }: ProxyCalls) {
  const { limits } = context
  let pending = 0

  const signing = answer<SignCertificateRequest, SignCertificateResponse>(
    "SignCertificate",
    signCertificate,
    async (caller, { signingRequest, ttlSeconds, nodeId }) => {
      if (signingRequest.length === 0) return invalid("`signing_request` is missing")
      if (signingRequest.length > SIGNING_REQUEST_BYTES) return invalid("`signing_request` is too large")
      if (nodeId.length > limits.nameLength) return invalid("`node_id` is too long")
      const signed = await sign(caller, signingRequest, ttlSeconds, nodeId)
      return "code" in signed ? signed : create(SignCertificateResponseSchema, signed)
    },
  )

  const reporting = answer<ReportRequest, ReportResponse>(
    "Report",
    reportMethod,
    async (caller, { nodeId, unknownKeys }) => {
      if (unknownKeys.length > REPORTED_KEYS) return invalid(`at most ${REPORTED_KEYS} keys per call`)
      if (nodeId.length > limits.nameLength) return invalid("`node_id` is too long")
      if (unknownKeys.some(id => id.length > KEY_SET_ID_LENGTH)) return invalid("a name is too long")
      report(caller, nodeId, unknownKeys)
      return create(ReportResponseSchema)
    },
  )

  function answer<Request, Response extends { readonly $typeName: string }>(
    name: "SignCertificate" | "Report",
    method: Method<Request, Response>,
    work: (caller: Caller, request: Request) => Promise<Response | StreamError>,
  ): (call: GrpcCall) => void {
    const respond = async (call: GrpcCall): Promise<void> => {
      const result = await run(call, method, work)
      const isError = "code" in result
      context.observe.called?.(name, isError ? result.code : "OK")
      if (isError) call.finish(result.code, result.message)
      else {
        call.send([method.responseSerialize(result)])
        call.finish("OK")
      }
    }
    return call => void respond(call)
  }

  async function run<Request, Response extends { readonly $typeName: string }>(
    call: GrpcCall,
    method: Method<Request, Response>,
    work: (caller: Caller, request: Request) => Promise<Response | StreamError>,
  ): Promise<Response | StreamError> {
    try {
      // Before the message is read: for an unauthenticated client, only one stream window is buffered.
      const { certificate } = call.peer
      const authenticated = await context.authenticator.authenticate(call.takeAuthorization(), certificate)
      if ("code" in authenticated) return authenticated
      const message = await new SingleMessage(call, limits.callMs).received
      if ("code" in message) return message
      const request = decoded(method, message)
      if (request === undefined) return invalid("the message cannot be read")
      if (pending >= limits.pendingCalls) return exhausted("too many concurrent calls; retry")
      pending += 1
      try {
        return await within(limits.callMs, work(authenticated.caller, request))
      } finally {
        pending -= 1
      }
    } catch (error) {
      context.log.error({ error: messageOf(error), method: method.path }, "a call failed")
      return { code: "INTERNAL", message: "the control plane failed on this call; retry" }
    }
  }

  return { signing, reporting }
}

function decoded<Request>(
  method: Pick<Method<Request, never>, "requestDeserialize">,
  message: Buffer,
): Request | undefined {
  try {
    return method.requestDeserialize(message)
  } catch {
    return undefined
  }
}

/** Waits for the single message of a unary call, with a time limit. */
class SingleMessage implements CallUser {
  readonly received: Promise<Buffer | StreamError>
  readonly #late: NodeJS.Timeout
  #notify: (received: Buffer | StreamError) => void = () => undefined
  #message: Buffer | undefined

  constructor(call: GrpcCall, waitMs: number) {
    this.received = new Promise(resolve => {
      this.#notify = resolve
    })
    const late: StreamError = { code: "DEADLINE_EXCEEDED", message: "no request arrived in time" }
    this.#late = setTimeout(() => this.#notify(late), waitMs).unref()
    call.user = this
    if (call.over) this.closed()
    else call.listen()
  }

  message(bytes: Buffer): void {
    if (this.#message === undefined) this.#message = bytes
    else this.#notify(invalid("only one message is allowed"))
  }

  ended(): void {
    clearTimeout(this.#late)
    this.#notify(this.#message ?? invalid("no message arrived"))
  }

  writable(): void {
    // The only response has been written already.
  }

  closed(): void {
    clearTimeout(this.#late)
    this.#notify(invalid("the call ended before its message"))
  }
}
