// SPDX-License-Identifier: Apache-2.0
// What an analysis can find: a closed table of codes with their severity. A finding says where, why and how to fix it.

import type { Kind, PolicyDocument } from "../resources/document.js"
import { type Path, renderPath } from "../resources/fault.js"

/** `error`: the policy does not do what it says. `warning`: it hardly does what was meant. `info`: worth knowing. */
export type Severity = "error" | "warning" | "info"

export const FINDINGS = {
  "no-token-possible": "error",
  "rule-never-matches": "error",
  "selector-selects-nothing": "warning",
  "shadowed-by-deny": "warning",
  "unknown-issuer": "warning",
  "unknown-trust-domain": "warning",
  "admits-anonymous": "warning",
  "deny-widens-on-tcp": "warning",
  "stray-dash": "warning",
  superseded: "warning",
  "ignored-selector": "warning",
  "host-without-port": "info",
  "redundant-rule": "info",
  "either-is-enough": "info",
  "allows-nothing": "info",
  "token-not-required": "info",
  "analysis-limited": "info",
} as const satisfies Record<string, Severity>

export type FindingCode = keyof typeof FINDINGS

export interface AnalysisFinding {
  readonly code: FindingCode
  readonly severity: Severity
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  /** As `spec.rules[0].from[1]`; empty for the document as a whole. */
  readonly path: string
  readonly why: string
  readonly fix: string
}

export function analysisFinding(
  code: FindingCode,
  { kind, metadata }: PolicyDocument,
  at: Path | string,
  why: string,
  fix: string,
): AnalysisFinding {
  const path = typeof at === "string" ? at : renderPath(at)
  return { code, severity: FINDINGS[code], kind, namespace: metadata.namespace, name: metadata.name, path, why, fix }
}
