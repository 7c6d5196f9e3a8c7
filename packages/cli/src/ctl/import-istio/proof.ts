// SPDX-License-Identifier: Apache-2.0
// Whether the converted policies decide every request like the originals: the original policies, under their own API
// group, are compared with ours by the exact comparison of `merlonctl diff`. One evaluator reads both, so this covers the
// conversion and what was left out, not fields that mean something else in Istio.

import { GATEWAY_TARGET_KINDS, type MeshNames, meshConfig, meshNames } from "@merlon/policy/mesh"
import { type Diff, diffSets, type Limits, type ProofWorkload } from "@merlon/policy/proof"
import { type PolicyDocument, type TargetRef, validate } from "@merlon/policy/resources"
import { workloadsIn } from "../answers/workload-files.js"
import { type Fields, fieldsOf, textOf } from "../foreign.js"
import { aboutOf, type Imported, withoutStatus } from "./imported.js"

const ISTIO_NAMES = meshNames({ mesh: "istio", domain: "istio.io" })

export interface ImportProof {
  readonly diff: Diff
  /** The workloads of the manifests, and for each policy one that it selects. */
  readonly workloads: readonly ProofWorkload[]
  /** The number of compared policies. */
  readonly policies: number
  /** Policies that cannot be read even under their own API group, so the proof does not cover them. */
  readonly unread: readonly string[]
}

/** Undefined if there are no security policies to compare. */
export function proofOfImport(
  originals: readonly unknown[],
  { documents }: Pick<Imported, "documents">,
  names: MeshNames,
  { now, limits }: { readonly now: number; readonly limits?: Limits },
): ImportProof | undefined {
  const theirs = originals.map(fieldsOf).filter(isTheirPolicy)
  if (theirs.length === 0) return undefined
  const read = theirs.map(object => ({ object, document: validate(withoutStatus(object), ISTIO_NAMES).document }))
  const before = read.flatMap(({ document }) => document ?? [])
  const after = documents.flatMap(object => policyOf(object, names))
  const workloads = [
    ...workloadsIn(documents, names, "default"),
    ...before.flatMap((policy, at) => selectedBy(policy, at, names)),
  ]
  const mesh = meshConfig({ names })
  // Both sides use our settings: Istio's path normalization is a setting of the mesh and not in the manifests.
  const options = { now, meshBefore: { ...mesh, names: ISTIO_NAMES }, ...(limits === undefined ? {} : { limits }) }
  return {
    diff: diffSets(before, after, workloads, mesh, options),
    workloads,
    policies: before.length,
    unread: read.filter(({ document }) => document === undefined).map(({ object }) => aboutOf(object)),
  }
}

function isTheirPolicy({ apiVersion }: Fields): boolean {
  return textOf(apiVersion)?.startsWith(`${ISTIO_NAMES.securityGroup}/`) === true
}

function policyOf(object: Fields, names: MeshNames): readonly PolicyDocument[] {
  if (textOf(object.apiVersion)?.startsWith(`${names.securityGroup}/`) !== true) return []
  const { document } = validate(object, names)
  return document === undefined ? [] : [document]
}

/** A workload that the policy certainly selects, in any namespace. */
function selectedBy(policy: PolicyDocument, at: number, names: MeshNames): readonly ProofWorkload[] {
  if (policy.kind === "MeshService" || policy.kind === "PolicyInvariant") return []
  const { metadata, spec } = policy
  const namespace = metadata.namespace === ISTIO_NAMES.rootNamespace ? "default" : metadata.namespace
  const services = spec.targetRefs?.flatMap(({ kind, name }) => (kind === "Service" ? [name] : []))
  return [
    {
      namespace,
      name: `selected-by-${metadata.name}-${at}`,
      labels: { ...spec.selector?.matchLabels, ...decidingFor(spec.targetRefs ?? [], names) },
      ...(services === undefined ? {} : { services }),
    },
  ]
}

/** An authorizer that decides for the targets, before and after. */
function decidingFor(targets: readonly TargetRef[], names: MeshNames): Readonly<Record<string, string>> {
  const labels = targets.flatMap(({ kind, name }) => {
    const deciding = GATEWAY_TARGET_KINDS.find(known => known === kind)
    if (deciding === undefined) return []
    return [ISTIO_NAMES, names].map(({ gatewayLabels }) => [gatewayLabels[deciding], name] as const)
  })
  return Object.fromEntries(labels)
}
