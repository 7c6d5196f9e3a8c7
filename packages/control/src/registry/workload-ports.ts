// SPDX-License-Identifier: Apache-2.0
// A workload's ports with the settings of its Services. If Services disagree, the most explicit one wins, then the
// oldest, then the first by name, so that every reader gets the same result.

import type { ApplicationPort } from "./application-ports.js"
import type { WorkloadPort } from "./mesh-workload.js"
import { type DeclaredProtocol, protocolOfName, spoken } from "./port-protocol.js"
import { type ServiceFacts, spellings } from "./service-reading.js"
import { targetPortOf } from "./target-port.js"

interface Say {
  readonly declared: DeclaredProtocol
  readonly explicit: boolean
}

/** `services` are those that select the workload, in any order. */
export function workloadPorts(
  ports: readonly ApplicationPort[],
  services: Iterable<ServiceFacts>,
): readonly WorkloadPort[] {
  const declarations = new Map<number, Say>()
  const hosts = new Map<number, Set<string>>()
  for (const service of [...services].sort(bySeniority)) {
    service.entry.ports.forEach((servicePort, index) => {
      const target = targetPortOf(ports, servicePort)
      if (target === undefined) return
      const names = hosts.get(target.port) ?? new Set()
      hosts.set(target.port, names)
      for (const name of spellings(service.entry)) names.add(name)
      const protocol = service.protocols[index]
      if (protocol?.declared === undefined) return
      const before = declarations.get(target.port)
      if (before !== undefined && (before.explicit || !protocol.explicit)) return
      declarations.set(target.port, { declared: protocol.declared, explicit: protocol.explicit })
    })
  }
  return ports.map(({ port, name, listen, upgrades = [] }) => ({
    port,
    name,
    listen,
    upgrades,
    ...spoken(declarations.get(port)?.declared ?? protocolOfName(name)),
    serviceNames: [...(hosts.get(port) ?? [])].sort(),
  }))
}

function bySeniority(a: ServiceFacts, b: ServiceFacts): number {
  if (a.created !== b.created) return a.created - b.created
  return a.entry.name < b.entry.name ? -1 : 1
}
