// SPDX-License-Identifier: Apache-2.0
// Suggested policies as JSON, and as YAML with their evidence in comments.

import type { Proof, Suggestion } from "@merlon/policy/analysis"
import type { MeshNames } from "@merlon/policy/mesh"
import { lastingName } from "@merlon/policy/proof"
import type { AuthorizationPolicy } from "@merlon/policy/resources"
import { stringify } from "yaml"
import { isIstio } from "./dialect.js"

const SAYS: Readonly<Record<keyof Suggestion["proofs"], string>> = {
  keeps: "recorded calls stay allowed",
  addsNothing: "nothing is allowed that is not allowed today",
  asSeen: "nothing is allowed that has not the shape of a recorded call",
}

export function suggestionsYaml(all: readonly Suggestion[], names: MeshNames, now: number): string {
  return all
    .map(one => `${comments(one, now)}${stringify(inWordsOf(names, one.policy), { lineWidth: 0, indentSeq: false })}`)
    .join("---\n")
    .trimEnd()
}

function comments({ workload, evidence, proofs, replaces, alsoSelects }: Suggestion, now: number): string {
  const { calls, shapes, firstSeen, lastSeen, leftOut } = evidence
  const lines = [
    `${lastingName(workload)}: ${calls} calls of ${shapes} shapes, seen from ${day(firstSeen)} to ${day(lastSeen)} (the last ${age(now - lastSeen)} ago)`,
    "in paths {*} stands for any segment and {**} for any rest; of a token only its issuer counts",
    ...Object.entries(SAYS).map(([name, says]) => proofLine(says, proofs[name as keyof Suggestion["proofs"]])), // its own keys
    ...(leftOut === 0
      ? []
      : [`${leftOut} shapes are left out because their callers are unknown; they would be denied`]),
    ...(replaces.length === 0
      ? []
      : [`takes effect once ${replaces.join(", ")} no longer ${replaces.length === 1 ? "allows" : "allow"} more`]),
    ...(alsoSelects.length === 0 ? [] : [`no label tells it from ${alsoSelects.join(", ")}`]),
  ]
  return lines.map(line => `# ${line.replaceAll(/[\r\n]/g, " ")}\n`).join("")
}

function proofLine(says: string, proof: Proof): string {
  return proof.verdict === "proved"
    ? `${says} (proved)`
    : `not ${proof.verdict === "undecided" ? "decided" : "so"}: ${says}; ${proof.why}`
}

/**
 * Istio has no field `enforcement` and would enforce the policy at once. For Istio, an annotation makes it a dry run.
 */
function inWordsOf(names: MeshNames, policy: AuthorizationPolicy): object {
  if (!isIstio(names)) return policy
  const { enforcement: _, ...spec } = policy.spec
  const metadata = { ...policy.metadata, annotations: { [names.dryRunAnnotation]: "true" } }
  return { ...policy, apiVersion: `${names.securityGroup}/v1`, metadata, spec }
}

export function suggestionsJson(all: readonly Suggestion[], names: MeshNames) {
  return {
    suggestions: all.map(({ workload, policy, evidence, replaces, alsoSelects, proofs }) => ({
      workload: lastingName(workload),
      policy: inWordsOf(names, policy),
      evidence: { ...evidence, firstSeen: time(evidence.firstSeen), lastSeen: time(evidence.lastSeen) },
      replaces,
      alsoSelects,
      proofs,
    })),
  }
}

const time = (at: number): string => new Date(at).toISOString()
const day = (at: number): string => time(at).slice(0, 10)

function age(milliseconds: number): string {
  const hours = Math.max(0, Math.floor(milliseconds / 3_600_000))
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`
}
