// SPDX-License-Identifier: Apache-2.0
// What a proxy does with destinations that have no routes: whether they may be called at all, and which addresses must
// never be called in plaintext. Every captured workload has this policy, so that it also applies while the control
// plane is away.

import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { choice, list, object, text } from "@merlon/policy/shape"
import { HostRoutesSchema } from "./generated/merlon/mesh/v1/mesh_pb.js"
import { MalformedResource, readJson } from "./malformed-resource.js"

/** Its name among the host routes; no host has this name. */
export const OUTBOUND_POLICY = "|outbound"

/** As Istio's `outboundTrafficPolicy`. */
export const OUTBOUND_MODES = ["ALLOW_ANY", "REGISTRY_ONLY"] as const
export type OutboundMode = (typeof OUTBOUND_MODES)[number]

export interface OutboundPolicySpec {
  /** `REGISTRY_ONLY`: destinations that are neither in the cluster nor named by a MeshService are rejected. */
  readonly mode: OutboundMode
  /** Addresses and CIDR blocks of hosts and workloads that require mutual TLS. */
  readonly mtls: readonly string[]
}

export const MAX_MTLS_BLOCKS = 65_536
const MAX_BLOCK = 64

const outboundPolicy = object<OutboundPolicySpec>({
  mode: choice(...OUTBOUND_MODES),
  mtls: list(MAX_MTLS_BLOCKS, text(MAX_BLOCK)),
})

/** Encodes the message inside the Any. */
export function encodeOutboundPolicy(spec: OutboundPolicySpec): Uint8Array {
  return toBinary(HostRoutesSchema, create(HostRoutesSchema, { outboundPolicy: JSON.stringify(spec) }))
}

/** Throws if the bytes are not an outbound policy. */
export function decodeOutboundPolicy(bytes: Uint8Array): OutboundPolicySpec {
  let written: string
  try {
    written = fromBinary(HostRoutesSchema, bytes).outboundPolicy
  } catch {
    throw new MalformedResource("is not a HostRoutes message")
  }
  return readJson(written, outboundPolicy)
}
