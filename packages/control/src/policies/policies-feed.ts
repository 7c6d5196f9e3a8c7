// SPDX-License-Identifier: Apache-2.0
// Feeds the reflectors' changes of our kinds into `stored-policies.ts`.

import { KINDS, type Kind } from "@merlon/policy/resources"
import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import type { StoredPolicies } from "./stored-policies.js"
import { policyKey } from "./stored-policy.js"

export type PolicyCopies = { readonly [K in Kind]: Reflected<KubernetesObject> }

/** `synced` resolves once everything stored has been read. */
export function feedPolicies(
  policies: Pick<StoredPolicies, "set">,
  copies: PolicyCopies,
  /** Called with `Kind/namespace/name` of each policy that is no longer stored. */
  deleted: (key: string) => void,
): { readonly synced: Promise<void>; stop(): void } {
  const stops = KINDS.map(({ kind }) => follow(policies, kind, copies[kind], deleted))
  return {
    synced: Promise.all(KINDS.map(({ kind }) => copies[kind].synced)).then(() => undefined),
    stop: () => {
      for (const stop of stops) stop()
    },
  }
}

function follow(
  policies: Pick<StoredPolicies, "set">,
  kind: Kind,
  copy: Reflected<KubernetesObject>,
  deleted: (key: string) => void,
): () => void {
  const stop = copy.onChange(({ key, object }) => {
    const [namespace = "", name = ""] = key.split("/")
    if (object !== undefined) policies.set(kind, object)
    else deleted(policyKey(kind, namespace, name))
  })
  for (const object of copy.items.values()) policies.set(kind, object)
  return stop
}
