// SPDX-License-Identifier: Apache-2.0
// A kubelet probe as the Pod declared it, before injection pointed it at xserver. The kubelet has no identity, so under
// STRICT it could not probe the application itself.

export interface Probe {
  readonly kind: "http" | "https" | "tcp" | "grpc"
  readonly port: number
  /** Path and query of an http probe; the service name of a grpc probe. */
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly timeoutMs: number
}
