// SPDX-License-Identifier: Apache-2.0
// The client side of Envoy's external authorization: encodes a check request for a provider and decodes its response.
// This file only parses the response; the proxy decides whether to trust it.

import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { type Address, AddressSchema } from "../generated/envoy/config/core/v3/address_pb.js"
import type { HeaderValueOption } from "../generated/envoy/config/core/v3/base_pb.js"
import { CheckRequestSchema, CheckResponseSchema } from "../generated/envoy/service/auth/v3/external_auth_pb.js"

type Pairs = readonly (readonly [name: string, value: string])[]

export interface ProviderCheck {
  readonly method: string
  /** Including the query. */
  readonly path: string
  readonly host: string
  readonly scheme: string
  readonly protocol: string
  readonly requestId: string
  /** Lower-case names with values of one character per byte. */
  readonly headers: Pairs
  readonly source: { readonly address: string; readonly principal: string | undefined }
  readonly destination: { readonly address: string; readonly port: number }
  readonly sni: string | undefined
}

export interface CheckResult {
  /** The gRPC status code; 0 allows. Undefined if the response has no status. */
  readonly code: number | undefined
  readonly response:
    | {
        readonly kind: "ok"
        readonly headers: Pairs
        readonly removeHeaders: readonly string[]
        readonly setsQuery: boolean
      }
    | { readonly kind: "denied"; readonly status: number; readonly body: string; readonly headers: Pairs }
    | undefined
}

export function writeProviderCheck(check: ProviderCheck): Uint8Array {
  const { source, destination, sni, headers, requestId: id, ...http } = check
  const joined: { [name: string]: string } = {}
  for (const [name, value] of headers) {
    const before = Object.hasOwn(joined, name) ? `${joined[name]},` : ""
    joined[name] = before + Buffer.from(value, "latin1").toString("utf8")
  }
  const message = create(CheckRequestSchema, {
    attributes: {
      source: { address: addressOf(source.address, 0), principal: source.principal ?? "" },
      destination: { address: addressOf(destination.address, destination.port) },
      request: { http: { ...http, id, headers: joined, size: -1n } },
      ...(sni !== undefined && { tlsSession: { sni } }),
    },
  })
  return toBinary(CheckRequestSchema, message)
}

/** Throws if the bytes are not a `CheckResponse`. */
export function readCheckResult(message: Uint8Array): CheckResult {
  const { status, httpResponse } = fromBinary(CheckResponseSchema, message, { readUnknownFields: false })
  const code = status?.code
  if (httpResponse.case === "okResponse") {
    const { headers, headersToRemove, queryParametersToRemove, queryParametersToSet } = httpResponse.value
    const setsQuery = queryParametersToRemove.length + queryParametersToSet.length > 0
    return { code, response: { kind: "ok", headers: headers.map(pairOf), removeHeaders: headersToRemove, setsQuery } }
  }
  if (httpResponse.case === "deniedResponse") {
    const { status: http, body, headers } = httpResponse.value
    const text = Buffer.from(body, "utf8").toString("latin1")
    return { code, response: { kind: "denied", status: http?.code ?? 0, body: text, headers: headers.map(pairOf) } }
  }
  return { code, response: undefined }
}

function pairOf({ header }: HeaderValueOption): readonly [string, string] {
  const { key = "", value = "", rawValue } = header ?? {}
  const bytes = rawValue !== undefined && rawValue.length > 0 ? Buffer.from(rawValue) : Buffer.from(value, "utf8")
  return [key.toLowerCase(), bytes.toString("latin1")]
}

function addressOf(address: string, port: number): Address {
  const portSpecifier = { case: "portValue", value: port } as const
  return create(AddressSchema, { address: { case: "socketAddress", value: { address, portSpecifier } } })
}
