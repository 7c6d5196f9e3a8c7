// SPDX-License-Identifier: Apache-2.0
// The two variants of xDS in messages: which session runs a stream, and how its responses are written.

import { create } from "@bufbuild/protobuf"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import type { Node } from "../generated/envoy/config/core/v3/base_pb.js"
import {
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
  type DiscoveryRequest,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
  ResourceSchema,
} from "../generated/envoy/service/discovery/v3/discovery_pb.js"
import { DeltaSession } from "./delta-session.js"
import type { DeltaResponse } from "./delta-type.js"
import type { Protocol } from "./observer.js"
import type { SessionOptions, StreamSession } from "./session.js"
import { type SotwResponse, SotwSession } from "./sotw-session.js"

export interface StreamProtocol<Request extends DiscoveryRequests, Plain extends PlainResponse, Response> {
  readonly name: Protocol
  session(options: SessionOptions): StreamSession<Request, Plain>
  encode(response: Plain): Response
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

export const deltaProtocol: StreamProtocol<DeltaDiscoveryRequest, DeltaResponse, DeltaDiscoveryResponse> = {
  name: "delta",
  session: options => new DeltaSession(options),
  encode: ({ typeUrl, nonce, revision, resources, removed }) =>
    create(DeltaDiscoveryResponseSchema, {
      typeUrl,
      nonce,
      systemVersionInfo: String(revision),
      resources: resources.map(({ name, version, value }) =>
        create(ResourceSchema, { name, version, resource: create(AnySchema, { typeUrl, value }) }),
      ),
      removedResources: [...removed],
    }),
}

export const sotwProtocol: StreamProtocol<DiscoveryRequest, SotwResponse, DiscoveryResponse> = {
  name: "sotw",
  session: options => new SotwSession(options),
  encode: ({ typeUrl, nonce, revision, resources }) =>
    create(DiscoveryResponseSchema, {
      typeUrl,
      nonce,
      versionInfo: String(revision),
      resources: resources.map(({ value }) => create(AnySchema, { typeUrl, value })),
    }),
}
