// SPDX-License-Identifier: Apache-2.0
// A kubelet probe as the Pod declared it, before injection pointed it at xserver. The kubelet has no identity, so under
// STRICT it could not probe the application itself.

export interface Probe {
  readonly kind: "http" | "https" | "tcp" | "grpc"
  readonly port: number
  /** Of an http probe, with its query; of a grpc probe the service it asks for. */
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly timeoutMs: number
}
