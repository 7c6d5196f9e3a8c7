// SPDX-License-Identifier: Apache-2.0
// Decodes a check request of Envoy's external authorization and encodes our response. Fields that the message lacks are
// absent in the result; the authorizer decides whether it can answer the request.

import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction,
  HeaderValueOptionSchema,
} from "../generated/envoy/config/core/v3/base_pb.js"
import {
  CheckRequestSchema,
  CheckResponseSchema,
  DeniedHttpResponseSchema,
  OkHttpResponseSchema,
} from "../generated/envoy/service/auth/v3/external_auth_pb.js"
import { HttpStatusSchema, type StatusCode } from "../generated/envoy/type/v3/http_status_pb.js"
import { StatusSchema } from "../generated/google/rpc/status_pb.js"

export interface CheckQuestion {
  /** Absent if the gateway asks about a TCP connection. Empty strings are attributes that the gateway did not send. */
  readonly http:
    | {
        readonly method: string
        /** Including the query. */
        readonly path: string
        readonly host: string
        readonly scheme: string
        /**
         * Lower-case names with values of one character per byte. Envoy joins the lines of a header unless it is
         * configured to send raw headers. Pseudo-headers are included.
         */
        readonly headers: readonly (readonly [name: string, value: string])[]
      }
    | undefined
  /** The address of the caller's connection to the gateway. */
  readonly sourceAddress: string | undefined
  readonly sourcePrincipal: string | undefined
  readonly sni: string | undefined
  /** Values from the gateway's route configuration; callers cannot set them. */
  readonly contextExtensions: { readonly [key: string]: string }
}

export type CheckAnswer =
  | {
      readonly verdict: "allow"
      readonly setHeaders: readonly (readonly [name: string, value: string])[]
      readonly removeHeaders: readonly string[]
      readonly removeParameters: readonly string[]
    }
  | {
      readonly verdict: "deny"
      readonly status: number
      readonly body: string
      readonly headers: readonly (readonly [name: string, value: string])[]
    }

const GRPC_PERMISSION_DENIED = 7
const GRPC_UNAUTHENTICATED = 16

/** Throws if the bytes are not a `CheckRequest`. */
export function readCheck(message: Uint8Array): CheckQuestion {
  const { attributes } = fromBinary(CheckRequestSchema, message, { readUnknownFields: false })
  const { source, request, tlsSession, contextExtensions = {} } = attributes ?? {}
  const { http } = request ?? {}
  const address = source?.address?.address
  return {
    http: http && {
      method: http.method,
      path: http.path,
      host: http.host,
      scheme: http.scheme,
      headers: [
        ...Object.entries(http.headers).map(([name, value]) => [name.toLowerCase(), byteText(value)] as const),
        ...(http.headerMap?.headers ?? []).map(
          ({ key, value, rawValue }) =>
            [
              key.toLowerCase(),
              rawValue.length > 0 ? Buffer.from(rawValue).toString("latin1") : byteText(value),
            ] as const,
        ),
      ],
    },
    sourceAddress: address?.case === "socketAddress" ? address.value.address : undefined,
    sourcePrincipal: source?.principal || undefined,
    sni: tlsSession?.sni || undefined,
    contextExtensions,
  }
}

export function writeCheck(answer: CheckAnswer): Uint8Array {
  return toBinary(CheckResponseSchema, answer.verdict === "allow" ? allowed(answer) : denied(answer))
}

function allowed({ setHeaders, removeHeaders, removeParameters }: Extract<CheckAnswer, { verdict: "allow" }>) {
  const value = create(OkHttpResponseSchema, {
    headers: setHeaders.map(replacing),
    headersToRemove: [...removeHeaders],
    queryParametersToRemove: [...removeParameters],
  })
  return create(CheckResponseSchema, {
    status: create(StatusSchema, {}),
    httpResponse: { case: "okResponse", value },
  })
}

function denied({ status, body, headers }: Extract<CheckAnswer, { verdict: "deny" }>) {
  const value = create(DeniedHttpResponseSchema, {
    status: create(HttpStatusSchema, { code: status as StatusCode }), // its values are the HTTP status codes
    headers: headers.map(replacing),
    body,
  })
  return create(CheckResponseSchema, {
    status: create(StatusSchema, { code: status === 401 ? GRPC_UNAUTHENTICATED : GRPC_PERMISSION_DENIED }),
    httpResponse: { case: "deniedResponse", value },
  })
}

function replacing([key, value]: readonly [string, string]): HeaderValueOption {
  return create(HeaderValueOptionSchema, {
    // One character per byte here, but UTF-8 text in the message.
    header: { key, value: Buffer.from(value, "latin1").toString("utf8") },
    appendAction: HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
  })
}

function byteText(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1")
}
