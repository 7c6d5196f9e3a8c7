// SPDX-License-Identifier: Apache-2.0
// The facts about a Service that the mesh uses: its directory entry, and its precedence over other Services.

import { isIP } from "node:net"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { labelsOf, listOf, objectOf, portOf, textOf } from "./foreign.js"
import type { MeshServiceEntry, ServicePort } from "./mesh-directory.js"
import { type DeclaredProtocol, protocolOfAppProtocol, protocolOfName } from "./port-protocol.js"
import { ascending } from "./udp.js"

export interface ServiceFacts {
  readonly entry: MeshServiceEntry
  /** Milliseconds since the epoch; counts as the newest if unknown. */
  readonly created: number
  /** In the order of the entry's ports: the declared protocols, and whether they are explicit. */
  readonly protocols: readonly { readonly declared: DeclaredProtocol | undefined; readonly explicit: boolean }[]
  /** UDP target ports by number; a port name can only refer to a port that the Pod declares itself. */
  readonly udpTargets: readonly number[]
}

export function serviceHost(name: string, namespace: string, clusterDomain: string): string {
  return `${name}.${namespace}.svc.${clusterDomain}`
}

/** All names that a caller may use. */
export function spellings({ name, namespace, host }: MeshServiceEntry): readonly string[] {
  return [name, `${name}.${namespace}`, `${name}.${namespace}.svc`, host]
}

export function readService({ metadata, spec }: KubernetesObject, clusterDomain: string): ServiceFacts {
  const namespace = metadata.namespace ?? "default"
  const { type, selector, ports: declared, clusterIP, clusterIPs } = objectOf(spec)
  const labels = labelsOf(type === "ExternalName" ? undefined : selector)
  const ports: ServicePort[] = []
  const protocols: ServiceFacts["protocols"][number][] = []
  const udpTargets: (number | undefined)[] = []
  for (const item of listOf(declared)) {
    const { name, port: number, protocol, targetPort, appProtocol } = objectOf(item)
    const port = portOf(number)
    if (port !== undefined && protocol === "UDP") udpTargets.push(portOf(targetPort ?? port))
    if (port === undefined || (protocol !== undefined && protocol !== "TCP")) continue
    const explicit = protocolOfAppProtocol(textOf(appProtocol))
    const spoken = explicit ?? protocolOfName(textOf(name))
    protocols.push({ declared: spoken, explicit: explicit !== undefined })
    ports.push({
      name: textOf(name),
      port,
      appProtocol: spoken,
      targetPort: portOf(targetPort) ?? textOf(targetPort) ?? port,
    })
  }
  const time = Date.parse(metadata.creationTimestamp ?? "")
  return {
    entry: {
      namespace,
      name: metadata.name,
      host: serviceHost(metadata.name, namespace, clusterDomain),
      // Kubernetes: no selector, or an empty one, selects nothing; another program manages the endpoints.
      selector: Object.keys(labels).length === 0 ? undefined : labels,
      ports,
      addresses: addressesOf(clusterIP, clusterIPs),
    },
    created: Number.isNaN(time) ? Number.MAX_SAFE_INTEGER : time,
    protocols,
    udpTargets: ascending(udpTargets),
  }
}

/** A headless Service has `None` instead of an address. */
function addressesOf(clusterIP: unknown, clusterIPs: unknown): readonly string[] {
  const all = [clusterIP, ...listOf(clusterIPs)].flatMap(value => textOf(value) ?? [])
  return [...new Set(all)].filter(address => isIP(address) !== 0)
}
