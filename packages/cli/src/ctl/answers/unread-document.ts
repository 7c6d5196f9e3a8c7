// SPDX-License-Identifier: Apache-2.0
// Whether a document that is no policy of the mesh may have been meant as a policy or a workload. Manifests contain
// many other kinds; an answer is incomplete only if something was skipped that could have changed it.

import type { MeshNames } from "@merlon/policy/mesh"
import { isPolicyTest, KINDS } from "@merlon/policy/resources"
import { nearest } from "@merlon/policy/shape"
import { fieldsOf, listOf, textOf } from "../foreign.js"
import { POD_MAKERS } from "./workload-files.js"

/** Kinds of workloads that answers about policies depend on. */
export const WORKLOAD_KINDS: readonly string[] = ["Pod", "CronJob", ...POD_MAKERS]
const POLICY_KINDS: readonly string[] = KINDS.map(({ kind }) => kind)
/** Kinds that distinguish a manifest from a text about manifests. */
export const TELLING_KINDS: readonly string[] = [
  ...POLICY_KINDS,
  ...WORKLOAD_KINDS,
  "Service",
  "PolicyTest",
  "List",
  "Kustomization",
]

/** Why the document could change the answer. Undefined if it cannot. */
export function whyItMatters(value: unknown, names: MeshNames): string | undefined {
  if (typeof value !== "object" || value === null) return "it is no Kubernetes document"
  if (isPolicyTest(value)) return undefined
  const { apiVersion, kind } = fieldsOf(value)
  const [group, named] = [groupOf(apiVersion), textOf(kind)]
  if (group === undefined || named === undefined) return withoutType(value, group === undefined ? "apiVersion" : "kind")
  if (named === "Service" || WORKLOAD_KINDS.includes(named)) return undefined
  if (named.endsWith("List") && !Array.isArray(fieldsOf(value).items)) return "it has no list of `items`"
  const { securityGroup, networkingGroup } = names
  if (POLICY_KINDS.includes(named)) {
    const next =
      group === "security.istio.io" ? "; `--dialect istio` decides it, `merlonctl import istio` translates it" : ""
    return `its apiVersion \`${String(apiVersion)}\` is not of the mesh's group, \`${securityGroup}\`${next}`
  }
  if (!isBuiltIn(group)) {
    const meant = nearest(named, POLICY_KINDS)
    if (meant !== undefined) return `no such kind is known; did you mean \`${meant}\`?`
    const near = nearest(group, [securityGroup, networkingGroup])
    if (near !== undefined) return `no such group is known; did you mean \`${near}\`?`
  }
  return hasPods(value)
    ? "it runs Pods, and its kind is not known here; describe them as Pods or a Deployment"
    : undefined
}

/** Whether the group belongs to Kubernetes. Such groups contain no policies of a mesh. */
function isBuiltIn(group: string): boolean {
  return !group.includes(".") || group.endsWith(".k8s.io")
}

/** The API group: empty for the core group, undefined without an `apiVersion`. */
function groupOf(apiVersion: unknown): string | undefined {
  const text = textOf(apiVersion)
  if (text === undefined || text === "") return undefined
  return text.includes("/") ? text.slice(0, text.indexOf("/")) : ""
}

/**
 * Why a document without a type could matter. Template values and settings of other tools have neither `apiVersion` nor
 * `kind`; a policy with a misspelt field has the other fields.
 */
function withoutType(value: object, missing: string): string | undefined {
  const keys = Object.keys(value)
  const isMeant = ["apiversion", "kind", "metadata"].some(word => keys.some(key => key.toLowerCase() === word))
  if (!isMeant && !keys.some(key => nearest(key, ["apiVersion"]) !== undefined)) return undefined
  const meant = nearest(missing, keys)
  return `it has no \`${missing}\`${meant === undefined ? "" : `; \`${meant}\` is written otherwise`}`
}

function hasPods(value: object): boolean {
  const { spec } = fieldsOf(value)
  const { template, containers } = fieldsOf(spec)
  return listOf(containers).length > 0 || listOf(fieldsOf(fieldsOf(template).spec).containers).length > 0
}
