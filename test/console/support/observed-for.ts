// SPDX-License-Identifier: Apache-2.0
// Backdates a mesh's recorded calls, as if the mesh had been observed for hours.

import { gunzipSync, gzipSync } from "node:zlib"
import type { KubernetesObject } from "../../../packages/control/src/kubernetes/resource-type.js"
import type { ClusterApi } from "../../e2e/control/support/cluster-api.js"

const HOUR_MS = 3_600_000
/** Shards of the ledger; shards without calls are not stored. */
const SHARDS = 4

interface Shard {
  readonly since: number
  readonly calls: readonly { readonly firstSeen: string }[]
}

export async function observedFor(api: ClusterApi, hours: number): Promise<void> {
  for (let index = 0; index < SHARDS; index++) {
    const stored = await api.get("ConfigMap", `merlon-calls-${index}`, "merlon-system")
    if (stored !== undefined) await api.put({ ...stored, binaryData: older(stored, hours) })
  }
}

function older({ binaryData }: KubernetesObject, hours: number): Readonly<Record<string, string>> {
  // The ledger stores each shard as compressed JSON.
  const fields = Object.entries(binaryData as Readonly<Record<string, string>>)
  return Object.fromEntries(
    fields.map(([field, data]) => {
      const shard: Shard = JSON.parse(gunzipSync(Buffer.from(data, "base64")).toString())
      const since = Date.now() - hours * HOUR_MS
      const calls = shard.calls.map(call => ({ ...call, firstSeen: new Date(since).toISOString() }))
      return [field, gzipSync(JSON.stringify({ ...shard, since, calls })).toString("base64")]
    }),
  )
}
