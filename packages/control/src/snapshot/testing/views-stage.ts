// SPDX-License-Identifier: Apache-2.0
// A registry with views, and dependencies that a test controls.

import { type MeshConfig, meshConfig } from "@merlon/policy/mesh"
import { encodeProxyResource, type ProxyResource } from "@merlon/xds"
import type { KubernetesObject } from "../../kubernetes/resource-type.js"
import { StoredPolicies } from "../../policies/stored-policies.js"
import type { SecurityKind } from "../../policies/stored-policy.js"
import { Registry } from "../../registry/registry.js"
import { WorkloadViews } from "../workload-views.js"
import { ManualKeySets, ManualScheduler, ManualTrust } from "./manual-sources.js"

export const MESH: MeshConfig = meshConfig()

export function policyOf(
  kind: SecurityKind | "PolicyInvariant",
  key: string,
  spec: unknown,
  metadata: object = {},
): KubernetesObject {
  const [namespace = "", name = ""] = key.split("/")
  const apiVersion = `${MESH.names.securityGroup}/${MESH.names.version}`
  return { apiVersion, kind, metadata: { name, namespace, uid: `uid-${key}`, generation: 1, ...metadata }, spec }
}

export function viewsStage({ begin = true } = {}) {
  const registry = new Registry({ names: MESH.names })
  const scheduler = new ManualScheduler()
  const trust = new ManualTrust()
  const keySets = new ManualKeySets()
  const invalid: string[] = []
  const encoded: ProxyResource[] = []
  const time = { now: 1_700_000_000_000 }
  const policies = new StoredPolicies({
    names: MESH.names,
    onInvalid: ({ key, errors }, kept) => invalid.push(`${key} ${kept ? "kept" : "left out"}: ${errors[0]?.path}`),
  })
  const views = new WorkloadViews({
    mesh: MESH,
    policies,
    directory: registry,
    keySets,
    trust,
    scheduler,
    now: () => time.now,
    encode: resource => {
      encoded.push(resource)
      return encodeProxyResource(resource)
    },
  })
  const changes: string[][] = []
  views.onChange(workloads => changes.push([...workloads].sort()))
  if (begin) views.begin()
  const settle = (): void => scheduler.advance(10)
  const namesOf = (workload: string): string[] => [...(views.get(workload)?.resources.keys() ?? [])].sort()
  return { policies, registry, scheduler, trust, keySets, invalid, encoded, time, views, changes, settle, namesOf }
}
