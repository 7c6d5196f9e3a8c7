// SPDX-License-Identifier: Apache-2.0
// Encodes a ServiceCluster as an Envoy Cluster. Endpoints are sent over ADS. With TLS, the client presents its mesh
// certificate and accepts only the identities of the Service's workloads.

import { create, toBinary } from "@bufbuild/protobuf"
import { anyPack, durationFromMs } from "@bufbuild/protobuf/wkt"
import {
  Cluster_CommonLbConfigSchema,
  Cluster_DiscoveryType,
  Cluster_EdsClusterConfigSchema,
  Cluster_LbPolicy,
  ClusterSchema,
} from "../generated/envoy/config/cluster/v3/cluster_pb.js"
import { TransportSocketSchema } from "../generated/envoy/config/core/v3/base_pb.js"
import { UpstreamTlsContextSchema } from "../generated/envoy/extensions/transport_sockets/tls/v3/tls_pb.js"
import { HttpProtocolOptionsSchema } from "../generated/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js"
import { PercentSchema } from "../generated/envoy/type/v3/percent_pb.js"
import type { ServiceCluster } from "../route-table.js"
import { overAds } from "./ads.js"
import { encodeProtocol } from "./protocol.js"
import { circuitBreakers, outlierDetection } from "./traffic.js"
import { upstreamTls } from "./upstream-tls.js"

const CONNECT_TIMEOUT_MS = 5_000
const PROTOCOL_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

export function encodeCluster(cluster: ServiceCluster): Uint8Array {
  const { name, sni, identities, traffic = {} } = cluster
  const { connectionPool, loadBalancer = "ROUND_ROBIN" } = traffic
  const [breakers, outliers] = [circuitBreakers(connectionPool), outlierDetection(traffic.outlierDetection)]
  // Otherwise Envoy would also call endpoints that are not ready as soon as half of them are not.
  const panic = create(PercentSchema, { value: traffic.outlierDetection?.minHealthPercent ?? 0 })
  const tls = callsWithTls(cluster)
  const message = create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: create(Cluster_EdsClusterConfigSchema, { edsConfig: overAds() }),
    connectTimeout: durationFromMs(connectionPool?.connectTimeoutMs ?? CONNECT_TIMEOUT_MS),
    lbPolicy: Cluster_LbPolicy[loadBalancer],
    commonLbConfig: create(Cluster_CommonLbConfigSchema, { healthyPanicThreshold: panic }),
    ...(breakers === undefined ? {} : { circuitBreakers: breakers }),
    ...(outliers === undefined ? {} : { outlierDetection: outliers }),
    typedExtensionProtocolOptions: { [PROTOCOL_OPTIONS]: anyPack(HttpProtocolOptionsSchema, encodeProtocol(tls)) },
  })
  if (tls) {
    message.transportSocket = create(TransportSocketSchema, {
      name: "envoy.transport_sockets.tls",
      configType: { case: "typedConfig", value: anyPack(UpstreamTlsContextSchema, upstreamTls(sni, identities)) },
    })
  }
  return toBinary(ClusterSchema, message)
}

/**
 * If no MeshService decides: TLS only if every endpoint requires it. A client without certificates rejects a cluster
 * with TLS as a whole, so clients that could still use plaintext are not given one.
 */
function callsWithTls({ tlsMode, endpoints }: ServiceCluster): boolean {
  if (tlsMode !== undefined) return tlsMode === "DUBBO_MUTUAL"
  return endpoints.length > 0 && endpoints.every(({ mtlsMode }) => mtlsMode === "STRICT")
}
