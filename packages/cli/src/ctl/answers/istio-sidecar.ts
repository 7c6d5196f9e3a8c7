// SPDX-License-Identifier: Apache-2.0
// Which Istio proxy decides about requests to a Pod, and where our model of a sidecar does not apply: Pods without a
// sidecar, gateways, the ambient mesh, and ports whose requests bypass the sidecar.

import type { MeshNames } from "@merlon/policy/mesh"
import { type Fields, fieldsOf, listOf, textOf, textsOf } from "../foreign.js"
import { isIstio } from "./dialect.js"
import type { InputLog, Scope } from "./inputs.js"
import { gatewayNameOf } from "./istio-proxies.js"
import { templateOf } from "./workload-files.js"

/** A Pod or a Pod template. */
export interface PodParts {
  readonly metadata?: unknown
  readonly spec?: unknown
}

/**
 * Names the control plane that configures a sidecar: a label of Pods and Namespaces, and an annotation of Pods with a
 * sidecar.
 */
export const REVISION = "istio.io/rev"
const PROXY = "istio-proxy"
const MODE = "istio.io/dataplane-mode"
const INJECT = "sidecar.istio.io/inject"
const INCLUDED = "traffic.sidecar.istio.io/includeInboundPorts"
const EXCLUDED = "traffic.sidecar.istio.io/excludeInboundPorts"
const INTERCEPTION = "sidecar.istio.io/interceptionMode"
const TEMPLATES = "inject.istio.io/templates"

/** Namespaces in which Istio never injects. */
const IGNORED: readonly string[] = ["kube-system", "kube-public", "kube-node-lease", "local-path-storage"]

export type IstioProxy = "sidecar" | "gateway" | "ambient" | "none"

/** The proxy of a running Pod. */
export function istioProxyOf({ metadata, spec }: PodParts): IstioProxy {
  if (textsOf(fieldsOf(metadata).annotations)["ambient.istio.io/redirection"] === "enabled") return "ambient"
  const proxy = proxyContainer(spec)
  if (proxy === undefined) return "none"
  const args = listOf(proxy.args)
  // No policy is about a ztunnel itself.
  if (args.includes("ztunnel")) return "none"
  return args.includes("router") || args.includes("waypoint") ? "gateway" : "sidecar"
}

function proxyContainer(spec: unknown): Fields | undefined {
  const { containers, initContainers } = fieldsOf(spec)
  return [...listOf(containers), ...listOf(initContainers)].map(fieldsOf).find(({ name }) => name === PROXY)
}

/** The Pod without Istio's container, whose ports are not the application's. */
export function withoutProxyContainer<T extends PodParts>(pod: T): T {
  const { containers, initContainers, ...spec } = fieldsOf(pod.spec)
  const others = (list: unknown) => listOf(list).filter(one => fieldsOf(one).name !== PROXY)
  return { ...pod, spec: { ...spec, containers: others(containers), initContainers: others(initContainers) } }
}

export const OTHERWISE = { gateway: "a gateway or waypoint of Istio", ambient: "in the ambient mesh" } as const

/** Why requests to ports of a Pod bypass a sidecar as we model it. */
export function whyPastSidecar({ metadata }: PodParts): string | undefined {
  const annotations = textsOf(fieldsOf(metadata).annotations)
  const [excluded, included, mode] = [annotations[EXCLUDED], annotations[INCLUDED], annotations[INTERCEPTION]]
  const templates = annotations[TEMPLATES]
  if (templates !== undefined && templates !== "sidecar") return `it is injected with \`${TEMPLATES}: ${templates}\``
  const past = (name: string, value: string) => `no policy holds on ports that \`${name}: ${value}\` leaves out`
  if (excluded !== undefined && excluded.trim() !== "") return past(EXCLUDED, excluded)
  if (included !== undefined && included.trim() !== "*") return past(INCLUDED, included)
  return mode === "NONE" ? `\`${INTERCEPTION}: NONE\` leads no request through its sidecar` : undefined
}

/** Why Istio would not inject a sidecar as we model it. */
function whyOtherProxy({ metadata, spec }: PodParts, namespace: string, ofNamespace: Fields): string | undefined {
  const [labels, annotations] = [textsOf(fieldsOf(metadata).labels), textsOf(fieldsOf(metadata).annotations)]
  const inject = labels[INJECT] ?? annotations[INJECT]
  const templates = annotations[TEMPLATES]
  if (proxyContainer(spec) !== undefined || templates?.split(",").includes("gateway") === true) {
    const proxy = templates?.includes("gateway") === true ? "gateway" : istioProxyOf({ metadata, spec })
    if (proxy === "none") return "it is a ztunnel, so no policy applies to it"
    return proxy === "gateway" ? `it is ${OTHERWISE.gateway}` : undefined
  }
  if (IGNORED.includes(namespace)) return `Istio injects no sidecar in \`${namespace}\`, so no policy applies to it`
  if (fieldsOf(spec).hostNetwork === true)
    return "`hostNetwork` leaves it without a sidecar, so no policy applies to it"
  if (inject === "false") return `\`${INJECT}: false\` leaves it without a sidecar, so no policy applies to it`
  // Overrides the Pod's own label: Kubernetes does not call the injection webhook for Pods of such a namespace.
  if (ofNamespace["istio-injection"] === "disabled")
    return "`istio-injection: disabled` leaves its namespace without sidecars, so no policy applies to it"
  if (inject === "true") return undefined
  return (labels[MODE] ?? ofNamespace[MODE]) === "ambient" ? IN_AMBIENT : undefined
}

const IN_AMBIENT = `it is ${OTHERWISE.ambient}`

/**
 * Logs workloads in files whose proxy our model of Istio does not cover. `beside`: other objects that may include their
 * Namespaces. `isTouched`: whether a policy without targets changes for a workload of the ambient mesh, where the ztunnel
 * ignores policies with targets; absent if all its policies matter.
 */
export function logOtherProxies(
  objects: readonly unknown[],
  beside: readonly unknown[],
  names: MeshNames,
  otherwise: string,
  log: Pick<InputLog, "skip">,
  isTouched: Scope = () => true,
): void {
  if (!isIstio(names)) return
  const all = objects.map(fieldsOf)
  const namespaces = [...all, ...beside.map(fieldsOf)].filter(({ kind }) => kind === "Namespace")
  const labelsOf = (wanted: string) =>
    namespaces
      .map(one => fieldsOf(one.metadata))
      .flatMap(({ name, labels }) => (name === wanted ? [textsOf(labels)] : []))
  for (const object of all) {
    const template = templateOf(object)
    // Pods of a Gateway: istio-proxies.ts decides which of them are modelled.
    if (template === undefined || gatewayNameOf({ labels: textsOf(template.metadata.labels) }) !== undefined) continue
    const metadata = fieldsOf(object.metadata)
    const [name = "", namespace = otherwise] = [textOf(metadata.name), textOf(metadata.namespace)]
    // Two versions of a Namespace may differ.
    const [other] = [...labelsOf(namespace), {}].flatMap(labels => whyOtherProxy(template, namespace, labels) ?? [])
    const why = other ?? whyPastSidecar(template)
    if (why === undefined) continue
    const versions = labelsOf(namespace)
    const isAlwaysAmbient = (versions.length === 0 ? [{}] : versions).every(
      labels => whyOtherProxy(template, namespace, labels) === IN_AMBIENT,
    )
    log.skip(
      `${textOf(object.kind)} ${namespace}/${name}: not modelled: ${why}`,
      (one, root) => one.namespace === namespace && one.name === name && (!isAlwaysAmbient || isTouched(one, root)),
    )
  }
}
