// SPDX-License-Identifier: Apache-2.0
// What the ADS server needs from the provider of resources. The server knows the protocol and not the meaning; the
// provider knows what each caller may see and not streams, nonces or versions already sent.

/** Who speaks, as proven by a service-account token or a certificate of the mesh. */
export interface Caller {
  readonly trustDomain: string
  readonly namespace: string
  readonly serviceAccount: string
  readonly proof: "token" | "certificate"
  /** The pod that the proof is bound to; its uid where that is known. */
  readonly pod?: string
  readonly podUid?: string
  /** When the proof ends, in milliseconds since the epoch; what was begun with it ends then too. */
  readonly expiresAt?: number
  /** Of the certificate, upper-case hex. */
  readonly serial?: string
  /** The token is an invitation: what it is known by. */
  readonly invitation?: string
}

/** What a client says of itself; nothing here is proven. */
export interface ClientNode {
  /** `namespace/pod` of an xserver or xclient; other xDS clients name themselves as they like. */
  readonly id: string
  readonly metadata: { readonly [key: string]: unknown }
  /** Address of the connection's other end. */
  readonly peerAddress: string
}

/** Immutable, and shared by all streams that send it. */
export interface VersionedResource {
  readonly name: string
  readonly version: string
  /** The message inside the Any, encoded. */
  readonly value: Uint8Array
}

export interface Snapshot {
  /** Whole numbers that grow; the same for the same contents as one subscriber sees them. */
  readonly revision: number
  /** Of a wildcard: everything. Of names: those that exist. */
  readonly resources: ReadonlyMap<string, VersionedResource>
}

export type HeldVersions = ReadonlyMap<string, string>

/** One stream's view of the resources. */
export interface Subscriber {
  /** Names replace those of an earlier call for the type. The source calls `wake` whenever what they yield changes. */
  /** `held`: versions by name that the client brought from an earlier stream, with its first request for the type. */
  watch(typeUrl: string, names: "*" | ReadonlySet<string>, held?: HeldVersions): void
  /** What the watched names yield now. Cheap: called after every `wake`. Undefined while it may not be sent yet. */
  snapshot(typeUrl: string): Snapshot | undefined
  acknowledged(typeUrl: string, revision: number): void
  /** The client keeps what it had. */
  rejected(typeUrl: string, revision: number, message: string): void
  close(): void
}

export type Rejection = {
  readonly code: "PERMISSION_DENIED" | "INVALID_ARGUMENT" | "UNAVAILABLE"
  readonly message: string
}

export interface ResourceSource {
  /** Called once per stream with its first request, for which `typeUrl` was asked. */
  open(caller: Caller, node: ClientNode, wake: (typeUrl: string) => void): Subscriber | Rejection
  /** Whether the caller may ask for this type at all; names that it may not see simply do not exist. */
  mayWatch(caller: Caller, node: ClientNode, typeUrl: string): Rejection | undefined
}
