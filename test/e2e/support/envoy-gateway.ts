// SPDX-License-Identifier: Apache-2.0
// The configuration that Envoy Gateway generates from its resources, with its own translator (`egctl experimental
// translate`), as one static file for an Envoy. What Envoy Gateway would send over ADS is inlined, and Services point
// to ports of this machine.

import { execFileSync } from "node:child_process"
import { address } from "../control/support/envoy.js"

const GATEWAY_PORT = 8080

/** The resources around the `SecurityPolicy`: a Gateway, an HTTPRoute to the application, and both Services. */
const RESOURCES = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: eg }
spec: { controllerName: gateway.envoyproxy.io/gatewayclass-controller }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: public, namespace: edge }
spec: { gatewayClassName: eg, listeners: [{ name: http, protocol: HTTP, port: ${GATEWAY_PORT} }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: shop, namespace: edge }
spec: { parentRefs: [{ name: public }], rules: [{ backendRefs: [{ name: application, port: 8080 }] }] }
---
apiVersion: v1
kind: Service
metadata: { name: merlon-authorizer, namespace: edge }
spec: { clusterIP: 10.0.0.9, ports: [{ name: http-authorizer, port: 9000, protocol: TCP, targetPort: 9000 }] }
---
apiVersion: v1
kind: Service
metadata: { name: application, namespace: edge }
spec: { clusterIP: 10.0.0.8, ports: [{ name: http, port: 8080, protocol: TCP, targetPort: 8080 }] }
---
`

// Only the parts that are read here; the rest is passed on unchanged.
interface Translated {
  readonly xds: { readonly [gateway: string]: { readonly configs: readonly Dump[] } }
}

interface Dump {
  readonly dynamicActiveClusters?: readonly { readonly cluster: Cluster }[]
  readonly dynamicListeners?: readonly { readonly activeState: { readonly listener: Listener } }[]
  readonly dynamicRouteConfigs?: readonly { readonly routeConfig: object }[]
}

interface Cluster {
  readonly name: string
}

interface Listener {
  readonly name: string
  readonly address: { readonly socketAddress: { readonly portValue: number } }
  readonly defaultFilterChain?: { readonly filters: readonly { readonly typedConfig: object }[] }
}

/** Envoy's static resources. */
export function envoyGatewayConfiguration(
  securityPolicy: string,
  ports: { readonly gateway: number; readonly application: number; readonly authorizer: number },
): object {
  const args = ["experimental", "translate", "--from", "gateway-api", "--to", "xds", "--output", "json", "--file", "-"]
  const output = execFileSync("egctl", args, { input: RESOURCES + securityPolicy, encoding: "utf8" })
  const { xds } = JSON.parse(output) as Translated // the format of egctl
  const dumps = Object.values(xds).flatMap(({ configs }) => configs)
  const clusters = dumps.flatMap(({ dynamicActiveClusters = [] }) =>
    dynamicActiveClusters.map(({ cluster }) => cluster),
  )
  const listeners = dumps.flatMap(({ dynamicListeners = [] }) => dynamicListeners)
  const [routes] = dumps.flatMap(({ dynamicRouteConfigs = [] }) => dynamicRouteConfigs)
  const gateway = listeners.find(
    ({ activeState }) => activeState.listener.address.socketAddress.portValue === GATEWAY_PORT,
  )?.activeState.listener
  const [manager] = gateway?.defaultFilterChain?.filters ?? []
  if (gateway === undefined || manager === undefined || routes === undefined) throw new Error(`no gateway in ${output}`)
  const { rds: _, ...typedConfig } = manager.typedConfig as { rds?: unknown } // the connection manager
  const inline = { ...manager, typedConfig: { ...typedConfig, routeConfig: untyped(routes.routeConfig) } }
  return {
    clusters: clusters.map(cluster =>
      leadingTo(cluster, cluster.name.startsWith("securitypolicy/") ? ports.authorizer : ports.application),
    ),
    listeners: [{ ...untyped(gateway), address: address(ports.gateway), defaultFilterChain: { filters: [inline] } }],
  }
}

/** Without the type, which a resource has in a dump and must not have in a file. */
function untyped<T extends object>(resource: T): Omit<T, "@type"> {
  const { "@type": _, ...kept } = resource as T & { "@type"?: string } // of a protobuf message
  return kept
}

function leadingTo(cluster: Cluster, port: number): object {
  const { edsClusterConfig: _, ...kept } = untyped(cluster) as Cluster & { edsClusterConfig?: unknown } // over ADS
  const endpoint = { endpoint: { address: address(port) }, loadBalancingWeight: 1 }
  // The load balancing policy weights localities.
  const endpoints = [{ lbEndpoints: [endpoint], loadBalancingWeight: 1, locality: { region: "local" } }]
  return { ...kept, type: "STATIC", loadAssignment: { clusterName: cluster.name, endpoints } }
}
