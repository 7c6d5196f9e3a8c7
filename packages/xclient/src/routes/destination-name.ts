// SPDX-License-Identifier: Apache-2.0
// The display name of a destination: its subset, otherwise its Service, otherwise the cluster. If two would have the
// same name, both use their clusters' names.

import { parseIp } from "@merlon/policy/request"
import type { ServiceCluster } from "@merlon/xds"

export function destinationNames(clusters: readonly ServiceCluster[]): ReadonlyMap<string, string> {
  const distinct = [...new Map(clusters.map(cluster => [cluster.name, cluster])).values()]
  const short = distinct.map(shortName)
  return new Map(
    distinct.map(({ name }, index) => {
      const candidate = short[index] ?? name
      return [name, short.indexOf(candidate) === short.lastIndexOf(candidate) ? candidate : name]
    }),
  )
}

function shortName({ name, host, subset }: ServiceCluster): string {
  if (subset !== "") return subset
  if (parseIp(host) !== undefined) return host
  return host.split(".")[0] || name
}
