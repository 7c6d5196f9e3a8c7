// SPDX-License-Identifier: Apache-2.0
// Encodes endpoints as a ClusterLoadAssignment, all in one locality, because the mesh has no topology.

import { create, toBinary } from "@bufbuild/protobuf"
import { type Address, AddressSchema, SocketAddressSchema } from "../generated/envoy/config/core/v3/address_pb.js"
import { LocalitySchema } from "../generated/envoy/config/core/v3/base_pb.js"
import { HealthStatus } from "../generated/envoy/config/core/v3/health_check_pb.js"
import {
  EndpointSchema,
  type LbEndpoint,
  LbEndpointSchema,
  LocalityLbEndpointsSchema,
} from "../generated/envoy/config/endpoint/v3/endpoint_components_pb.js"
import { ClusterLoadAssignmentSchema } from "../generated/envoy/config/endpoint/v3/endpoint_pb.js"
import type { ServiceEndpoint } from "../route-table.js"

export function encodeEndpoints(cluster: string, endpoints: readonly ServiceEndpoint[]): Uint8Array {
  const distinct = onePerAddress(endpoints)
  const locality = create(LocalityLbEndpointsSchema, {
    locality: create(LocalitySchema),
    // gRPC ignores a locality without a weight.
    loadBalancingWeight: 1,
    lbEndpoints: distinct.map(encodeEndpoint),
  })
  return toBinary(
    ClusterLoadAssignmentSchema,
    create(ClusterLoadAssignmentSchema, {
      clusterName: cluster,
      endpoints: endpoints.length === 0 ? [] : [locality],
    }),
  )
}

function encodeEndpoint({ address, otherAddresses = [], port, healthy }: ServiceEndpoint): LbEndpoint {
  return create(LbEndpointSchema, {
    hostIdentifier: {
      case: "endpoint",
      value: create(EndpointSchema, {
        address: encodeAddress(address, port),
        additionalAddresses: otherAddresses.map(other => ({ address: encodeAddress(other, port) })),
      }),
    },
    healthStatus: healthy ? HealthStatus.HEALTHY : HealthStatus.UNHEALTHY,
  })
}

function encodeAddress(address: string, port: number): Address {
  const value = create(SocketAddressSchema, { address, portSpecifier: { case: "portValue", value: port } })
  return create(AddressSchema, { address: { case: "socketAddress", value } })
}

/** Clients reject an assignment with a duplicate address. If two workloads have the same one, the ready one is used. */
function onePerAddress(endpoints: readonly ServiceEndpoint[]): readonly ServiceEndpoint[] {
  const known = new Map<string, ServiceEndpoint>()
  for (const endpoint of endpoints) {
    const key = `${endpoint.address} ${endpoint.port}`
    const other = known.get(key)
    if (other === undefined || (!other.healthy && endpoint.healthy)) known.set(key, endpoint)
  }
  const taken = new Set(known.keys())
  return [...known.values()].map(endpoint => {
    const free = (endpoint.otherAddresses ?? []).filter(address => !taken.has(`${address} ${endpoint.port}`))
    for (const address of free) taken.add(`${address} ${endpoint.port}`)
    return { ...endpoint, otherAddresses: free }
  })
}
