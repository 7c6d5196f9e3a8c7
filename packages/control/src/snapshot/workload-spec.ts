// SPDX-License-Identifier: Apache-2.0
// The part of a proxy's configuration that describes its own workload. It does not include readiness and address, so
// their changes send nothing.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { MeshSpec, WorkloadSpec } from "@merlon/xds"
import type { MeshWorkload } from "../registry/mesh-workload.js"

export function meshSpec(mesh: MeshConfig): MeshSpec {
  const { names, trustDomain, trustDomainAliases, pathNormalization, numTrustedProxies, providers } = mesh
  const { mesh: word, domain } = names
  return { mesh: word, domain, trustDomain, trustDomainAliases, pathNormalization, numTrustedProxies, providers }
}

export function workloadSpec(workload: MeshWorkload, mesh: MeshSpec): WorkloadSpec {
  const { namespace, name, serviceAccount, labels, services, ports, probes } = workload
  return {
    mesh,
    namespace,
    name,
    serviceAccount,
    labels,
    services,
    // The names of container ports are only needed to resolve Services, which proxies do not do.
    ports: ports.map(({ port, listen, protocol, upstreamProtocol, serviceNames, upgrades }) => ({
      port,
      listen,
      protocol,
      upstreamProtocol,
      serviceNames,
      upgrades,
    })),
    probes,
  }
}
