// SPDX-License-Identifier: Apache-2.0
// What the ADS server needs from the provider of resources. The server knows the protocol but not the meaning. The
// provider knows what each caller may see, but not streams, nonces or sent versions.

/** The authenticated caller, by a service-account token or a certificate of the mesh. */
export interface Caller {
  readonly trustDomain: string
  readonly namespace: string
  readonly serviceAccount: string
  readonly proof: "token" | "certificate"
  /** The Pod that the credentials are bound to, and its uid if known. */
  readonly pod?: string
  readonly podUid?: string
  /** When the credentials expire, in milliseconds since the epoch; streams that they opened end then too. */
  readonly expiresAt?: number
  /** The certificate's serial number, upper-case hex. */
  readonly serial?: string
  /** The id of the invitation, if the token is one. */
  readonly invitation?: string
}

/** What a client claims about itself; none of it is verified. */
export interface ClientNode {
  /** `namespace/pod` for xserver and xclient; other xDS clients use any id. */
  readonly id: string
  readonly metadata: { readonly [key: string]: unknown }
  /** Address of the connection's peer. */
  readonly peerAddress: string
}

/** Immutable, and shared by all streams that send it. */
export interface VersionedResource {
  readonly name: string
  readonly version: string
  /** The encoded message inside the Any. */
  readonly value: Uint8Array
}

export interface Snapshot {
  /** Growing whole numbers; the same for the same contents as seen by one subscriber. */
  readonly revision: number
  /** With a wildcard: everything. With names: those that exist. */
  readonly resources: ReadonlyMap<string, VersionedResource>
}

export type HeldVersions = ReadonlyMap<string, string>

/** One stream's view of the resources. */
export interface Subscriber {
  /**
   * `names` replace those of an earlier call for the type. The source calls `wake` whenever their resources change.
   * `held`: versions by name that the client has from an earlier stream, sent with its first request for the type.
   */
  watch(typeUrl: string, names: "*" | ReadonlySet<string>, held?: HeldVersions): void
  /**
   * The current resources of the watched names. Cheap: called after every `wake`. Undefined while they must not be sent
   * yet.
   */
  snapshot(typeUrl: string): Snapshot | undefined
  acknowledged(typeUrl: string, revision: number): void
  /** The client keeps its previous state. */
  rejected(typeUrl: string, revision: number, message: string): void
  close(): void
}

export type Rejection = {
  readonly code: "PERMISSION_DENIED" | "INVALID_ARGUMENT" | "UNAVAILABLE"
  readonly message: string
}

export interface ResourceSource {
  /** Called once per stream, with its first request; `typeUrl` is that request's. */
  open(caller: Caller, node: ClientNode, wake: (typeUrl: string) => void): Subscriber | Rejection
  /** Whether the caller may subscribe to this type at all. Names that it may not see do not exist for it. */
  mayWatch(caller: Caller, node: ClientNode, typeUrl: string): Rejection | undefined
}
