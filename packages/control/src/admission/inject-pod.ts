// SPDX-License-Identifier: Apache-2.0
// What a Pod becomes: xserver beside the application, probes through it, and notes by which the registry knows it. Pure;
// the same Pod injected twice is the same as once.

import { applicationPorts, hasXserver } from "../registry/application-ports.js"
import { listOf, objectOf, textOf } from "../registry/foreign.js"
import {
  type InjectionOptions,
  injectionNames,
  isReservedPort,
  MAX_PORTS,
  TEMPLATE_VERSION,
} from "./injection-options.js"
import { optIn } from "./opt-in.js"
import { bootstrapDocument, captureContainer, proxyContainer, proxyVolumes } from "./proxy-container.js"
import type { PatchOperation } from "./review.js"
import { rewriteProbes } from "./rewrite-probes.js"

export type PodInjection =
  | { readonly outcome: "skipped"; readonly because: string; readonly warnings: readonly string[] }
  | { readonly outcome: "refused"; readonly because: string }
  | { readonly outcome: "injected"; readonly patch: readonly PatchOperation[]; readonly warnings: readonly string[] }

export interface PodPlace {
  readonly namespace: string
  readonly namespaceOptedIn: boolean
}

export function injectPod(
  pod: unknown,
  { namespace, namespaceOptedIn }: PodPlace,
  options: InjectionOptions,
): PodInjection {
  const { names, capture, nativeSidecar } = options
  const metadata = objectOf(objectOf(pod).metadata)
  const spec = objectOf(objectOf(pod).spec)
  const wish = optIn(metadata.labels, namespace, namespaceOptedIn, names)
  const skipped = (because: string, warnings = wish.warnings): PodInjection => ({
    outcome: "skipped",
    because,
    warnings,
  })
  if (!wish.inject) return skipped(wish.because)
  if (hasXserver(spec, names)) return skipped("it has an xserver already")
  if (spec.hostNetwork === true) {
    const because = "a pod with `hostNetwork` shares the node's ports, so no xserver can stand before it"
    return skipped(because, [...wish.warnings, `nothing is injected: ${because}`])
  }
  const ports = applicationPorts(spec, names)
  const refused = refusal(
    ports.map(({ port }) => port),
    spec,
    options,
  )
  if (refused !== undefined) return { outcome: "refused", because: refused }
  const { containers, probes, warnings } = rewriteProbes(listOf(spec.containers))
  const { annotations: keys } = injectionNames(names)
  const annotations = {
    ...objectOf(metadata.annotations),
    [keys.injected]: TEMPLATE_VERSION,
    [keys.proxy]: "xserver",
    [keys.ports]: JSON.stringify(ports),
    [keys.probes]: JSON.stringify(probes),
    [keys.bootstrap]: JSON.stringify(bootstrapDocument(options)),
  }
  const proxy = proxyContainer(options, ports)
  const first = [
    ...(capture === "redirect" ? [captureContainer(options, ports)] : []),
    ...(nativeSidecar ? [proxy] : []),
  ]
  const set = (path: string, value: unknown): PatchOperation => ({ op: "add", path, value })
  return {
    outcome: "injected",
    patch: [
      ...(objectOf(pod).metadata === undefined ? [set("/metadata", {})] : []),
      set("/metadata/annotations", annotations),
      set("/spec/containers", nativeSidecar ? containers : [proxy, ...containers]),
      ...(first.length === 0 ? [] : [set("/spec/initContainers", [...first, ...listOf(spec.initContainers)])]),
      set("/spec/volumes", [...listOf(spec.volumes), ...proxyVolumes(options)]),
    ],
    warnings: [...wish.warnings, ...warnings, ...oddities(ports.length, spec, options)],
  }
}

/** Why it cannot be done; the pod is then refused, as starting it without its gate would be worse. */
function refusal(
  ports: readonly number[],
  spec: { readonly [field: string]: unknown },
  options: InjectionOptions,
): string | undefined {
  const { injectLabel } = options.names
  const instead = `change it, or set the label \`${injectLabel}: "false"\``
  const taken = ports.filter(isReservedPort)
  if (taken.length > 0) return `the ports ${taken.join(", ")} are xserver's own; ${instead}`
  if (ports.length > MAX_PORTS)
    return `${ports.length} ports are more than the ${MAX_PORTS} that xserver has; ${instead}`
  const { papersVolume, stateVolume, initContainer } = injectionNames(options.names)
  const named = [...listOf(spec.volumes), ...listOf(spec.initContainers)].map(item => textOf(objectOf(item).name))
  const clash = [papersVolume, stateVolume, initContainer].find(name => named.includes(name))
  return clash === undefined ? undefined : `the name \`${clash}\` is one that injection uses; ${instead}`
}

function oddities(
  ports: number,
  spec: { readonly [field: string]: unknown },
  { nativeSidecar }: InjectionOptions,
): readonly string[] {
  const warnings: string[] = []
  if (ports === 0) {
    warnings.push("no container declares a TCP port, so xserver lets nothing in; declare `ports` of the application")
  }
  if (!nativeSidecar && (spec.restartPolicy === "Never" || spec.restartPolicy === "OnFailure")) {
    warnings.push(
      "xserver keeps running when the application has finished, so the pod never completes; use native sidecars",
    )
  }
  return warnings
}
