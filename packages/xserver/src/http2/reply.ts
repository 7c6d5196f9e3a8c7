// SPDX-License-Identifier: Apache-2.0
// Answers of the gate itself on an HTTP/2 stream, with the same statuses and texts as on HTTP/1.1. A caller that speaks
// gRPC gets them as it expects an error: HTTP 200 and the status in trailers that are all there is (gRPC over HTTP/2,
// "Trailers-Only").

import { grpcStatus } from "@merlon/policy"
import { HTTP_FAULTS, type HttpFault } from "../http/fault.js"
import { UPSTREAM_REPLIES } from "../http/local-reply.js"
import type { UpstreamFailure } from "../observe/meters.js"
import type { HeaderList } from "./application/application.js"

export interface StreamReply {
  readonly status: number
  readonly body: string
  readonly headers: HeaderList
}

export function faultReply(fault: HttpFault): StreamReply {
  const { status, text } = HTTP_FAULTS[fault]
  return { status, body: text, headers: [] }
}

export function failureReply(failure: UpstreamFailure): StreamReply {
  const { status, body } = UPSTREAM_REPLIES[failure]
  return { status, body, headers: [] }
}

/** The whole reply where it is for gRPC. */
export function grpcReply({ status, body, headers }: StreamReply): HeaderList {
  return [
    [":status", "200"],
    ["content-type", "application/grpc"],
    ["grpc-status", String(grpcCode(status))],
    ["grpc-message", percentEncoded(body)],
    ...headers,
  ]
}

export function plainReply({ status, body, headers }: StreamReply): HeaderList {
  const type: HeaderList = body === "" ? [] : [["content-type", "text/plain"]]
  return [[":status", String(status)], ...type, ["content-length", String(Buffer.byteLength(body))], ...headers]
}

// "HTTP to gRPC Status Code Mapping" of the gRPC project; refusals by policy have their own words.
function grpcCode(status: number): number {
  switch (status) {
    case 401:
    case 403:
      return grpcStatus(status)
    case 400:
    case 431:
      return 13
    case 404:
      return 12
    case 408:
    case 429:
    case 502:
    case 503:
    case 504:
      return 14
    default:
      return 2
  }
}

// gRPC over HTTP/2, "Status-Message": percent-encoded UTF-8, visible ASCII and the space as they are.
function percentEncoded(text: string): string {
  return text.replace(/[^\x20-\x24\x26-\x7e]+/gu, part =>
    Buffer.from(part)
      .toString("hex")
      .toUpperCase()
      .replace(/../g, byte => `%${byte}`),
  )
}
