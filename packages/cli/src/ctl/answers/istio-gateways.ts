// SPDX-License-Identifier: Apache-2.0
// The Gateways of the Gateway API for which Istio runs a proxy: gateways (class `istio`) and waypoints (class
// `istio-waypoint`). Istio creates their Pods, so manifests seldom contain them, and a Gateway stands for its proxy.

import { type Fields, fieldsOf, listOf, textOf, textsOf } from "../foreign.js"
import { selects } from "./istio-namespaces.js"

/** A label of the Pods of a gateway or waypoint (Gateway API). */
export const GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name"
export const GATEWAY_GROUP = "gateway.networking.k8s.io"
const CONTROLLER = "istio.io/gateway-controller"
const WAYPOINT_FOR = "istio.io/waypoint-for"

export interface ReadGateway {
  readonly namespace: string
  readonly name: string
  readonly isWaypoint: boolean
  /** Whether its class is one of Istio's: other controllers run proxies to which no policy of Istio applies. */
  readonly isOfIstio: boolean
  /** Why its proxy is not modelled. */
  readonly why: string | undefined
  /** The name of the Deployment and of its Service that Istio creates. */
  readonly deployment: string
  readonly serviceAccount: string
  readonly ports: readonly number[]
  /** The host name of a listener that has one without a wildcard. */
  readonly host: string | undefined
  /** Labels of the Pods that Istio creates. */
  readonly labels: { readonly [key: string]: string }
  /** Whether these Pods may have further labels with this key. */
  mayHave(key: string): boolean
  /** Only for waypoints: what they take requests for. */
  readonly traffic: "service" | "workload" | "all" | "none"
  /**
   * Whether Services of the namespace may use the waypoint; undefined if that depends on labels that were not read.
   * `labels`: those of the Namespace, if it was read.
   */
  allows(namespace: string, labels: Fields | undefined): boolean | undefined
}

export const isGateway = ({ apiVersion, kind }: Fields): boolean => kind === "Gateway" && isOfGroup(apiVersion)
export const isGatewayClass = ({ apiVersion, kind }: Fields): boolean =>
  kind === "GatewayClass" && isOfGroup(apiVersion)

export const isGatewayObject = (object: Fields): boolean => isGateway(object) || isGatewayClass(object)

const isOfGroup = (apiVersion: unknown): boolean => textOf(apiVersion)?.startsWith(`${GATEWAY_GROUP}/`) === true

/** `classes`: the GatewayClasses that were read, by name. */
export function readGateway(
  object: Fields,
  classes: ReadonlyMap<string, Fields>,
  otherwise: string,
): ReadGateway | undefined {
  const metadata = fieldsOf(object.metadata)
  const name = textOf(metadata.name)
  if (name === undefined) return undefined
  const spec = fieldsOf(object.spec)
  const className = textOf(spec.gatewayClassName) ?? ""
  const ofClass = classes.get(className)
  const isWaypoint = className === "istio-waypoint"
  const isOfIstio = isWaypoint || className === "istio" || fieldsOf(ofClass?.spec).controllerName === CONTROLLER
  const [labels, annotations] = [textsOf(metadata.labels), textsOf(metadata.annotations)]
  const infrastructure = fieldsOf(spec.infrastructure)
  const deployment = annotations["gateway.istio.io/name-override"] ?? (isWaypoint ? name : `${name}-${className}`)
  const own = spec.infrastructure === undefined ? labels : textsOf(infrastructure.labels)
  const listeners = listOf(spec.listeners).map(fieldsOf)
  const [host] = listeners.flatMap(one => textOf(one.hostname) ?? []).filter(one => !one.includes("*"))
  return {
    namespace: textOf(metadata.namespace) ?? otherwise,
    name,
    isWaypoint,
    isOfIstio,
    why: isOfIstio
      ? (whyNotModelled(spec, listeners, annotations, isWaypoint) ?? (isWaypoint ? whyNotReady(object) : undefined))
      : `its class \`${className}\` is not one of Istio`,
    deployment,
    serviceAccount: annotations["gateway.istio.io/service-account"] ?? deployment,
    ports: [...new Set(listeners.flatMap(({ port }) => (typeof port === "number" ? [port] : [])))],
    host,
    labels: { ...own, [GATEWAY_NAME]: name },
    mayHave: key =>
      infrastructure.parametersRef !== undefined || Object.hasOwn(labels, key) || /(^|\.)(istio|k8s)\.io\//.test(key),
    traffic: trafficOf(labels[WAYPOINT_FOR] ?? textsOf(fieldsOf(ofClass?.metadata).labels)[WAYPOINT_FOR]),
    allows: (namespace, ofNamespace) =>
      allowedFrom(listeners, namespace === (textOf(metadata.namespace) ?? otherwise), namespace, ofNamespace),
  }
}

/** Istio takes a gateway to be deployed by hand if it has an address that is a host name, or several. */
function whyNotModelled(
  spec: Fields,
  listeners: readonly Fields[],
  annotations: { readonly [name: string]: string },
  isWaypoint: boolean,
): string | undefined {
  const addresses = listOf(spec.addresses).map(fieldsOf)
  if (addresses.length > 1 || addresses.some(({ type = "IPAddress" }) => type !== "IPAddress"))
    return "its `addresses` name a proxy that is deployed by hand"
  if (isWaypoint) {
    const binding = "ambient.istio.io/waypoint-inbound-binding"
    return annotations[binding] === undefined ? undefined : `\`${binding}\` puts a ztunnel in front of it`
  }
  if (fieldsOf(spec.tls).frontend !== undefined) return "it verifies certificates of clients"
  // A ListenerSet may verify certificates of clients, and comes from any namespace that the Gateway allows.
  const { from = "None" } = fieldsOf(fieldsOf(spec.allowedListeners).namespaces)
  if (from !== "None") return "its `allowedListeners` accept ListenerSets, which are not read"
  const verifying = listeners.find(({ tls }) => {
    const { options, frontendValidation } = fieldsOf(tls)
    const mode = textsOf(options)["gateway.istio.io/tls-terminate-mode"]
    return frontendValidation !== undefined || (mode !== undefined && mode !== "SIMPLE")
  })
  return verifying && `its listener \`${textOf(verifying.name) ?? ""}\` verifies certificates of clients`
}

/** A waypoint without an address, through which no request passes yet. */
export const NOT_READY = "it is not ready"

/** Traffic bypasses a waypoint of a cluster until it has an address. Manifests have no status. */
function whyNotReady({ metadata, status }: Fields): string | undefined {
  const isStored = fieldsOf(metadata).uid !== undefined
  return isStored && listOf(fieldsOf(status).addresses).length === 0 ? NOT_READY : undefined
}

function trafficOf(written: string | undefined): ReadGateway["traffic"] {
  if (written === undefined) return "service"
  return written === "service" || written === "workload" || written === "all" ? written : "none"
}

/** Namespaces whose Services may use a waypoint: those that its HBONE listener allows, by default its own. */
function allowedFrom(
  listeners: readonly Fields[],
  isOwn: boolean,
  namespace: string,
  ofNamespace: Fields | undefined,
): boolean | undefined {
  const listener = listeners.find(({ protocol, port }) => protocol === "HBONE" && port === 15008)
  const { from, selector } = fieldsOf(fieldsOf(listener?.allowedRoutes).namespaces)
  if (from === "All") return true
  if (from !== "Selector") return isOwn
  const labels = { ...textsOf(ofNamespace), "kubernetes.io/metadata.name": namespace }
  if (selects(fieldsOf(selector), labels, ofNamespace !== undefined)) return true
  return ofNamespace === undefined ? undefined : false
}
