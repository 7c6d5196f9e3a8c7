// SPDX-License-Identifier: Apache-2.0
// The two variants of xDS as messages: which session runs a stream, and how its responses are encoded.

import type { Node } from "../generated/envoy/config/core/v3/base_pb.js"
import type { DeltaDiscoveryRequest, DiscoveryRequest } from "../generated/envoy/service/discovery/v3/discovery_pb.js"
import { deltaAggregatedResources, streamAggregatedResources } from "../wire/methods.js"
import { DeltaSession } from "./delta-session.js"
import type { DeltaResponse } from "./delta-type.js"
import { encodeDelta, encodeSotw } from "./encode-response.js"
import type { Protocol } from "./observer.js"
import type { SessionOptions, StreamSession } from "./session.js"
import { type SotwResponse, SotwSession } from "./sotw-session.js"

export interface StreamProtocol<Request extends DiscoveryRequests, Plain extends PlainResponse> {
  readonly name: Protocol
  session(options: SessionOptions): StreamSession<Request, Plain>
  readonly read: (bytes: Uint8Array) => Request
  /** Returns consecutive parts of the message. */
  encode(response: Plain): readonly Buffer[]
}

export interface DiscoveryRequests {
  readonly node?: Node | undefined
  readonly typeUrl: string
}

export interface PlainResponse {
  readonly typeUrl: string
  readonly resources: readonly { readonly value: Uint8Array }[]
  readonly removed?: readonly string[]
}

export const deltaProtocol: StreamProtocol<DeltaDiscoveryRequest, DeltaResponse> = {
  name: "delta",
  session: options => new DeltaSession(options),
  read: deltaAggregatedResources.requestDeserialize,
  encode: encodeDelta,
}

export const sotwProtocol: StreamProtocol<DiscoveryRequest, SotwResponse> = {
  name: "sotw",
  session: options => new SotwSession(options),
  read: streamAggregatedResources.requestDeserialize,
  encode: encodeSotw,
}
