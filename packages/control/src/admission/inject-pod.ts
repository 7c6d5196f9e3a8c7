// SPDX-License-Identifier: Apache-2.0
// Injects a Pod: adds xserver next to the application, routes probes through it, and adds annotations for the registry.
// Pure and idempotent.

import { applicationPorts, hasXserver } from "../registry/application-ports.js"
import { type Foreign, listOf, objectOf, textOf } from "../registry/foreign.js"
import { bypassingPrivilege } from "../registry/privileges.js"
import { udpPorts } from "../registry/udp.js"
import { injectionError, undeclaredError } from "./injected-shape.js"
import {
  type InjectionOptions,
  injectionNames,
  isReservedPort,
  MAX_PORTS,
  TEMPLATE_VERSION,
} from "./injection-options.js"
import { optIn } from "./opt-in.js"
import { outboundOf } from "./outbound-choice.js"
import { membersOf } from "./outbound-members.js"
import {
  bootstrapDocument,
  captureContainer,
  outboundContainer,
  proxyContainer,
  proxyVolumes,
} from "./proxy-container.js"
import { DEFAULT_RESOURCES, type ProxyResources, proxyResources } from "./proxy-resources.js"
import type { PatchOperation } from "./review.js"
import { rewriteProbes } from "./rewrite-probes.js"

export type PodInjection =
  | { readonly outcome: "skipped"; readonly because: string; readonly warnings: readonly string[] }
  | { readonly outcome: "rejected"; readonly because: string }
  | { readonly outcome: "injected"; readonly patch: readonly PatchOperation[]; readonly warnings: readonly string[] }

export interface PodPlace {
  readonly namespace: string
  readonly namespaceOptedIn: boolean
  /** Whether the namespace accepts no Pod without an xserver. */
  readonly required?: boolean
}

const DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"

export function injectPod(pod: unknown, place: PodPlace, options: InjectionOptions): PodInjection {
  const { names, capture, nativeSidecar } = options
  const { namespace, namespaceOptedIn, required = false } = place
  const metadata = objectOf(objectOf(pod).metadata)
  const spec = objectOf(objectOf(pod).spec)
  const choice = optIn(metadata.labels, namespace, namespaceOptedIn, names)
  const skipped = (because: string, warnings = choice.warnings): PodInjection =>
    required
      ? { outcome: "rejected", because: `the namespace \`${namespace}\` requires one, and ${because}` }
      : { outcome: "skipped", because, warnings }
  if (!choice.inject) return skipped(choice.because)
  if (hasXserver(spec, names)) {
    const error = required ? injectionError(pod, options) : undefined
    return error === undefined
      ? { outcome: "skipped", because: "it already has an xserver", warnings: choice.warnings }
      : { outcome: "rejected", because: unprotected(namespace, error) }
  }
  if (spec.hostNetwork === true) {
    const because = "a pod with `hostNetwork` shares the node's ports, so no xserver can protect it"
    return skipped(because, [...choice.warnings, `nothing is injected: ${because}`])
  }
  const ports = applicationPorts(spec, names)
  const rejected = rejection(
    ports.map(({ port }) => port),
    spec,
    options,
  )
  if (rejected !== undefined) return { outcome: "rejected", because: rejected }
  const open = required
    ? (undeclaredError(objectOf(metadata.annotations), options) ?? bypassingPrivilege(spec, names))
    : undefined
  if (open !== undefined) return { outcome: "rejected", because: unprotected(namespace, open) }
  const { annotations: keys, captureLabel } = injectionNames(names)
  const notes = objectOf(metadata.annotations)
  const undeclared = notes[keys.undeclared] === "pass" ? "pass" : "refuse"
  const outbound = outboundOf(notes, spec, options)
  if (typeof outbound === "string") return { outcome: "rejected", because: outbound }
  const callsOut = outbound.way === "proxy"
  const resources = resourcesOf(notes, options)
  if (typeof resources === "string") return { outcome: "rejected", because: resources }
  const sized = { ...options, resources }
  const { probes, warnings, ...rewritten } = rewriteProbes(listOf(spec.containers), listOf(spec.initContainers))
  const members = membersOf({ ...rewritten, annotations: notes, callsOut }, options)
  const annotations = {
    ...notes,
    [keys.injected]: TEMPLATE_VERSION,
    [keys.proxy]: "xserver",
    [keys.ports]: JSON.stringify(ports),
    [keys.probes]: JSON.stringify(probes),
    [keys.bootstrap]: JSON.stringify(bootstrapDocument(options)),
    [keys.outboundBootstrap]: JSON.stringify(bootstrapDocument(options, false)),
    // So that `kubectl logs` and `exec` use the application's container.
    ...(notes[DEFAULT_CONTAINER] === undefined ? defaultContainer(members.containers) : {}),
  }
  const sidecars = [proxyContainer(sized, ports, outbound), ...(callsOut ? [outboundContainer(sized, ports)] : [])]
  const rules = capture === "redirect" ? [captureContainer(sized, ports, undeclared, outbound)] : []
  // A plain proxy starts after all init containers. Calls of these would be redirected to a port without a listener.
  const rulesLast = outbound.way === "capture" && !nativeSidecar
  const inits = [
    ...(rulesLast ? [] : rules),
    ...(nativeSidecar ? sidecars : []),
    ...members.initContainers,
    ...(rulesLast ? rules : []),
  ]
  const set = (path: string, value: unknown): PatchOperation => ({ op: "add", path, value })
  return {
    outcome: "injected",
    patch: [
      ...(objectOf(pod).metadata === undefined ? [set("/metadata", {})] : []),
      set("/metadata/annotations", annotations),
      set("/metadata/labels", { ...objectOf(metadata.labels), [captureLabel]: capture }),
      set("/spec/containers", nativeSidecar ? members.containers : [...sidecars, ...members.containers]),
      ...(inits.length === 0 ? [] : [set("/spec/initContainers", inits)]),
      set("/spec/volumes", [...listOf(spec.volumes), ...proxyVolumes(options)]),
    ],
    warnings: [
      ...choice.warnings,
      ...warnings,
      ...members.warnings,
      ...outbound.warnings,
      ...oddities(ports.length, spec, undeclared, options),
    ],
  }
}

function resourcesOf(annotations: Foreign, { names, resources }: InjectionOptions): ProxyResources | string {
  const { resources: key } = injectionNames(names).annotations
  const text = textOf(annotations[key])
  if (text === undefined) return resources ?? DEFAULT_RESOURCES
  const chosen = proxyResources(text, resources)
  return typeof chosen === "string" ? `the annotation \`${key}\` ${chosen}` : chosen
}

/** The error for a namespace that requires injection. */
export function unprotected(namespace: string, error: string): string {
  return `the namespace \`${namespace}\` rejects Pods whose xserver can be bypassed, and ${error}`
}

function defaultContainer(containers: readonly Foreign[]): { readonly [annotation: string]: string } {
  const name = textOf(containers[0]?.name)
  return name === undefined ? {} : { [DEFAULT_CONTAINER]: name }
}

/** Why injection is impossible. The Pod is then rejected, because starting it without its proxy would be worse. */
function rejection(ports: readonly number[], spec: Foreign, options: InjectionOptions): string | undefined {
  const { injectLabel } = options.names
  const instead = `change it, or set the label \`${injectLabel}: "false"\``
  const taken = ports.filter(isReservedPort)
  if (taken.length > 0) return `the ports ${taken.join(", ")} are reserved for xserver; ${instead}`
  if (ports.length > MAX_PORTS)
    return `it declares ${ports.length} ports, and xserver supports ${MAX_PORTS}; ${instead}`
  const { credentialsVolume, stateVolume, initContainer, outboundContainer: outbound } = injectionNames(options.names)
  const { volumes, initContainers, containers } = spec
  const named = [...listOf(volumes), ...listOf(initContainers), ...listOf(containers)].map(item =>
    textOf(objectOf(item).name),
  )
  const clash = [credentialsVolume, stateVolume, initContainer, outbound].find(name => named.includes(name))
  return clash === undefined ? undefined : `the name \`${clash}\` is reserved for injection; ${instead}`
}

function oddities(
  ports: number,
  spec: Foreign,
  undeclared: "refuse" | "pass",
  { nativeSidecar, names, capture, udp: handling }: InjectionOptions,
): readonly string[] {
  const warnings: string[] = []
  if (ports === 0) {
    warnings.push(
      "no container declares a TCP port, so xserver accepts no connections; declare the application's `ports`",
    )
  }
  const udp = udpPorts(spec).join(", ")
  if (udp !== "" && capture === "redirect" && handling === "refuse") {
    warnings.push(`this mesh denies UDP: no client can reach ${udp}`)
  } else if (udp !== "") {
    warnings.push(`no policy judges UDP: every client can reach ${udp}, even with STRICT`)
  }
  if (undeclared === "pass") {
    const { undeclared: annotation } = injectionNames(names).annotations
    warnings.push(
      `\`${annotation}: pass\` lets connections reach ports without policy checks, so no policy of this Pod is Ready`,
    )
  }
  if (!nativeSidecar && (spec.restartPolicy === "Never" || spec.restartPolicy === "OnFailure")) {
    warnings.push("xserver keeps running after the application exits, so the Pod never completes; use native sidecars")
  }
  return warnings
}
