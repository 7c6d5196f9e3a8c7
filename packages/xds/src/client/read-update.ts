// SPDX-License-Identifier: Apache-2.0
// Decodes an update from a response. A response that names a resource twice, or contains another type than it declares,
// is rejected as a whole: half an update would be a state that never existed.

import type { DeltaDiscoveryResponse } from "../generated/envoy/service/discovery/v3/discovery_pb.js"
import type { VersionedResource } from "../server/source.js"
import type { Update } from "./options.js"

export function readUpdate(response: DeltaDiscoveryResponse): Update {
  const { typeUrl, systemVersionInfo, removedResources } = response
  const seen = new Set<string>()
  const once = (name: string) => {
    if (seen.has(name)) throw new Error(`the update contains \`${name}\` twice`)
    seen.add(name)
  }
  const resources = response.resources.map(({ name, version, resource }): VersionedResource => {
    once(name)
    if (resource === undefined) throw new Error(`the resource \`${name}\` is empty`)
    if (resource.typeUrl !== typeUrl) throw new Error(`the resource \`${name}\` is a \`${resource.typeUrl}\``)
    return { name, version, value: resource.value }
  })
  for (const name of removedResources) once(name)
  const revision = /^\d+$/.test(systemVersionInfo) ? Number(systemVersionInfo) : 0
  return { revision: Number.isSafeInteger(revision) ? revision : 0, resources, removed: removedResources }
}
