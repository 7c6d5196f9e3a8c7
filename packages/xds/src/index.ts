// SPDX-License-Identifier: Apache-2.0
// The public face of the road.

export {
  type KeySetSpec,
  type MeshSpec,
  type PortSpec,
  PROXY_RESOURCE,
  type ProbeSpec,
  type ProxyResource,
  resourceNames,
  type TrustSpec,
  type WorkloadSpec,
} from "./proxy-resource.js"
export type {
  Caller,
  ClientNode,
  Refusal,
  ResourceSource,
  Snapshot,
  Subscriber,
  VersionedResource,
} from "./server/source.js"
