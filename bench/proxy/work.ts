// SPDX-License-Identifier: Apache-2.0
// What a proxy does with each request.

/** `grpc` is a call over cleartext HTTP/2, to an application that uses the same. */
export type Work = "plain" | "jwt" | "mtls" | "mtls-jwt" | "h2" | "mtls-h2" | "grpc"

export function isHttp2(work: Work): boolean {
  return work === "h2" || work === "mtls-h2" || work === "grpc"
}

/** The application's ports by protocol. */
export interface Upstreams {
  readonly http1: number
  readonly grpc: number
}

export function upstreamOf(work: Work, { http1, grpc }: Upstreams): number {
  return work === "grpc" ? grpc : http1
}
