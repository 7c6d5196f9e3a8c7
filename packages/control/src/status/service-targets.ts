// SPDX-License-Identifier: Apache-2.0
// The targets of a policy that have no workload, and the status text for them.

import type { MeshNames } from "@merlon/policy/mesh"
import type { PolicyDocument, TargetRef } from "@merlon/policy/resources"
import { targetKey, targetsBefore, type Workload } from "@merlon/policy/selection"
import { oneLine, someOf } from "../observe/one-line.js"
import { isSecurityPolicy } from "../policies/stored-policy.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import { serviceHost } from "../registry/service-reading.js"
import type { Targets } from "./condition-inputs.js"

export const NO_TARGETS: Targets = { absent: [], blind: [], empty: [], unserved: [] }

/** Targets without duplicates; undefined if the policy selects by labels. */
export function targetsNamed(document: PolicyDocument | undefined): readonly TargetRef[] | undefined {
  if (document === undefined || !isSecurityPolicy(document)) return undefined
  const { targetRefs } = document.spec
  return targetRefs && [...new Map(targetRefs.map(target => [targetKey(target), target])).values()]
}

function servicesNamed(document: PolicyDocument | undefined): readonly string[] {
  return (targetsNamed(document) ?? []).filter(({ kind }) => kind === "Service").map(({ name }) => name)
}

/** Hosts whose Services determine which workloads the policy selects. */
export function targetHosts(document: PolicyDocument | undefined, clusterDomain: string): ReadonlySet<string> {
  return new Set(
    servicesNamed(document).map(name => serviceHost(name, document?.metadata.namespace ?? "", clusterDomain)),
  )
}

/** `authorizers` are those among the selected workloads. A label alone does not make another program an authorizer. */
export function targetsOf(
  document: PolicyDocument,
  authorizers: readonly Workload[],
  directory: MeshDirectory,
  { clusterDomain, names }: { readonly clusterDomain: string; readonly names: MeshNames },
): Targets {
  const [absent, blind, empty]: [string[], string[], string[]] = [[], [], []]
  for (const name of servicesNamed(document)) {
    const service = directory.services.get(serviceHost(name, document.metadata.namespace, clusterDomain))
    if (service === undefined) absent.push(name)
    else if (service.selector === undefined) blind.push(name)
    else if ([...directory.behind(service)].length === 0) empty.push(name)
  }
  const served = new Set(authorizers.flatMap(workload => targetsBefore(workload, names)))
  const unserved = (targetsNamed(document) ?? []).flatMap(target => {
    const { kind, name } = target
    if (kind === "Service" || served.has(targetKey(target))) return []
    const label = names.gatewayLabels[kind as keyof MeshNames["gatewayLabels"]] // validated: there is no other kind
    return [{ target: `${kind} ${name}`, label: `${label}=${name}` }]
  })
  return { absent, blind, empty, unserved }
}

/** Errors of the targets, one phrase each. */
export function targetErrors({ absent, blind, empty, unserved }: Targets, namespace: string): readonly string[] {
  const named = (names: readonly string[]): string => someOf(names.map(name => `\`${oneLine(name)}\``))
  return [
    ...(absent.length === 0 ? [] : [`no Service ${named(absent)} in \`${namespace}\``]),
    ...(blind.length === 0 ? [] : [`the Service ${named(blind)} has no selector, so its workloads are unknown`]),
    ...(empty.length === 0 ? [] : [`no workload is behind the Service ${named(empty)}`]),
    ...unserved.map(
      ({ target, label }) =>
        `no authorizer in \`${namespace}\` has the label \`${oneLine(label)}\` of the ${oneLine(target)}`,
    ),
  ]
}
