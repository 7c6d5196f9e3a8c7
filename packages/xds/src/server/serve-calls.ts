// SPDX-License-Identifier: Apache-2.0
// What a proxy asks and says beside its stream: sign this, these keys are unknown.

import { create } from "@bufbuild/protobuf"
import { type handleUnaryCall, type ServerUnaryCall, type sendUnaryData, status } from "@grpc/grpc-js"
import {
  type ReportRequest,
  type ReportResponse,
  ReportResponseSchema,
  type SignCertificateRequest,
  type SignCertificateResponse,
  SignCertificateResponseSchema,
} from "../generated/merlon/mesh/v1/mesh_pb.js"
import { messageOf } from "../log.js"
import { within } from "../within.js"
import type { ServerContext } from "./server-context.js"
import type { Caller, Refusal } from "./source.js"
import { exhausted, invalid, type StreamFault } from "./stream-fault.js"

export interface SignedCertificate {
  /** PEM, leaf first, without the root. */
  readonly certificateChain: string
  readonly trustBundle: string
}

export interface ProxyCalls {
  /** `ttlSeconds` is 0 where the caller leaves it to us. */
  readonly sign: (
    caller: Caller,
    request: Uint8Array,
    ttlSeconds: number,
    nodeId: string,
  ) => Promise<SignedCertificate | Refusal>
  readonly report: (caller: Caller, nodeId: string, unknownKeys: readonly string[]) => void
}

/** A request with a key of any kind in use is smaller. */
const SIGNING_REQUEST_BYTES = 16 * 1024
const REPORTED_KEYS = 1_000
/** An issuer and a URI of the longest kind that a policy may have, each character escaped. */
const KEY_SET_ID_LENGTH = 32 * 1024

export function proxyService(context: ServerContext, { sign, report }: ProxyCalls) {
  const { limits } = context
  let pending = 0

  const signing: handleUnaryCall<SignCertificateRequest, SignCertificateResponse> = answer(
    "SignCertificate",
    async (caller, { signingRequest, ttlSeconds, nodeId }) => {
      if (signingRequest.length === 0) return invalid("`signing_request` is missing")
      if (signingRequest.length > SIGNING_REQUEST_BYTES) return invalid("`signing_request` is too large")
      if (nodeId.length > limits.nameLength) return invalid("`node_id` is too long")
      const signed = await sign(caller, signingRequest, ttlSeconds, nodeId)
      return "code" in signed ? signed : create(SignCertificateResponseSchema, signed)
    },
  )

  const reporting: handleUnaryCall<ReportRequest, ReportResponse> = answer(
    "Report",
    async (caller, { nodeId, unknownKeys }) => {
      if (unknownKeys.length > REPORTED_KEYS) return invalid(`at most ${REPORTED_KEYS} keys at once`)
      if (nodeId.length > limits.nameLength) return invalid("`node_id` is too long")
      if (unknownKeys.some(id => id.length > KEY_SET_ID_LENGTH)) return invalid("a name is too long")
      report(caller, nodeId, unknownKeys)
      return create(ReportResponseSchema)
    },
  )

  function answer<Request, Response extends { readonly $typeName: string }>(
    method: "SignCertificate" | "Report",
    work: (caller: Caller, request: Request) => Promise<Response | StreamFault>,
  ): handleUnaryCall<Request, Response> {
    const respond = async (call: ServerUnaryCall<Request, Response>, callback: sendUnaryData<Response>) => {
      const result = await run(call, work)
      const isFault = "code" in result
      context.observe.called?.(method, isFault ? result.code : "OK")
      if (isFault) callback({ code: status[result.code], details: result.message })
      else callback(null, result)
    }
    return (call, callback) => void respond(call, callback)
  }

  async function run<Request, Response extends { readonly $typeName: string }>(
    call: ServerUnaryCall<Request, Response>,
    work: (caller: Caller, request: Request) => Promise<Response | StreamFault>,
  ): Promise<Response | StreamFault> {
    if (pending >= limits.pendingCalls) return exhausted("too many calls at once; try again")
    pending += 1
    try {
      const certificate = context.connectionOf(call.getPeer())?.certificate
      const proven = await context.authenticator.authenticate(call.metadata, certificate)
      return "code" in proven ? proven : await within(limits.callMs, work(proven.caller, call.request))
    } catch (error) {
      context.log.error({ error: messageOf(error), method: call.getPath() }, "a call failed")
      return { code: "INTERNAL", message: "the control plane failed on this call; try again" }
    } finally {
      pending -= 1
    }
  }

  return { signing, reporting }
}
