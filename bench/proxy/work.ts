// SPDX-License-Identifier: Apache-2.0
// What a proxy has to do with each request.

/** `grpc` is a call over HTTP/2 in clear, to an application that speaks the same. */
export type Work = "plain" | "jwt" | "mtls" | "mtls-jwt" | "h2" | "mtls-h2" | "grpc"

export function isHttp2(work: Work): boolean {
  return work === "h2" || work === "mtls-h2" || work === "grpc"
}

/** Where the application listens, by what it speaks there. */
export interface Upstreams {
  readonly http1: number
  readonly grpc: number
}

export function upstreamOf(work: Work, { http1, grpc }: Upstreams): number {
  return work === "grpc" ? grpc : http1
}
