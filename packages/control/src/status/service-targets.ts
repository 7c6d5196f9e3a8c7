// SPDX-License-Identifier: Apache-2.0
// The Services that a policy targets and that select no workloads, and the status text for them.

import type { PolicyDocument } from "@merlon/policy/resources"
import { oneLine, someOf } from "../observe/one-line.js"
import { isSecurityPolicy } from "../policies/stored-policy.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import { serviceHost } from "../registry/service-reading.js"
import type { Targets } from "./condition-inputs.js"

export const NO_TARGETS: Targets = { absent: [], blind: [], empty: [] }

/** Names of Services, each once; undefined where the policy goes by labels. */
export function targetNames(document: PolicyDocument | undefined): readonly string[] | undefined {
  if (document === undefined || !isSecurityPolicy(document)) return undefined
  const { targetRefs } = document.spec
  return targetRefs && [...new Set(targetRefs.map(({ name }) => name))]
}

/** Hosts whose coming and going changes what the policy reaches. */
export function targetHosts(document: PolicyDocument | undefined, clusterDomain: string): ReadonlySet<string> {
  const names = targetNames(document) ?? []
  return new Set(names.map(name => serviceHost(name, document?.metadata.namespace ?? "", clusterDomain)))
}

export function targetsOf(document: PolicyDocument, directory: MeshDirectory, clusterDomain: string): Targets {
  const [absent, blind, empty]: [string[], string[], string[]] = [[], [], []]
  for (const name of targetNames(document) ?? []) {
    const service = directory.services.get(serviceHost(name, document.metadata.namespace, clusterDomain))
    if (service === undefined) absent.push(name)
    else if (service.selector === undefined) blind.push(name)
    else if ([...directory.behind(service)].length === 0) empty.push(name)
  }
  return { absent, blind, empty }
}

/** What is wrong with them, one phrase each. */
export function targetFaults({ absent, blind, empty }: Targets, namespace: string): readonly string[] {
  const named = (names: readonly string[]): string => someOf(names.map(name => `\`${oneLine(name)}\``))
  return [
    ...(absent.length === 0 ? [] : [`there is no Service ${named(absent)} in \`${namespace}\``]),
    ...(blind.length === 0 ? [] : [`the Service ${named(blind)} has no selector, so its workloads are unknown`]),
    ...(empty.length === 0 ? [] : [`no workload is behind the Service ${named(empty)}`]),
  ]
}
