// SPDX-License-Identifier: Apache-2.0
// What an analysis can find: a closed table of codes with their severity. A finding says where, why and how to fix it.

import type { Kind, PolicyDocument } from "../resources/document.js"
import { type FaultTable, type Path, renderPath } from "../resources/fault.js"

/** `error`: the policy does not do what it says. `warning`: it hardly does what was meant. `info`: worth knowing. */
export type Severity = "error" | "warning" | "info"

export const FINDINGS = {
  "no-token-possible": {
    severity: "error",
    means: "a rule asks for a token, and nothing verifies any there",
    next: "add a RequestAuthentication with the issuer of these tokens to the same scope",
  },
  "rule-never-matches": {
    severity: "error",
    means: "conditions of a rule contradict each other",
    next: "remove the contradiction, or the alternative if it is not needed",
  },
  "invariant-holds-vacuously": {
    severity: "error",
    means: "no request can match a `never` of an invariant, so it holds whatever the policies allow",
    next: "write paths as they are after normalisation, and remove what contradicts",
  },
  "selector-selects-nothing": {
    severity: "warning",
    means: "no workload has the labels of the selector",
    next: "write the labels of the workload that is meant, or remove the policy",
  },
  "target-leads-nowhere": {
    severity: "warning",
    means: "no workload is behind the Service that the policy names",
    next: "create the Service in the policy's namespace with a selector, or name another",
  },
  "shadowed-by-deny": {
    severity: "warning",
    means: "a DENY rule refuses everything that the rule allows",
    next: "narrow the DENY rule, or remove this one",
  },
  "unknown-issuer": {
    severity: "warning",
    means: "no RequestAuthentication in scope has the issuer of the principal",
    next: "write the issuer as its RequestAuthentication has it, or add one",
  },
  "unknown-trust-domain": {
    severity: "warning",
    means: "the principal is of a trust domain that no peer here can have",
    next: "write the mesh's trust domain, or add the other to its aliases",
  },
  "admits-anonymous": {
    severity: "warning",
    means: "what the rule excludes by name also holds for callers without any",
    next: 'add `requestPrincipals: ["*"]` or `principals: ["*"]` beside it',
  },
  "deny-widens-on-tcp": {
    severity: "warning",
    means: "on TCP ports a condition on HTTP counts as matched in a DENY rule",
    next: "name the HTTP ports that the rule is meant for",
  },
  "closed-by-one-spelling": {
    severity: "warning",
    means:
      "a path or host is closed as it is written, and open in another spelling: with a slash, `;parameters` or a port more, with `%2f`, or in another case",
    next: "write what the message says, or allow what is meant to be open and nothing else",
  },
  "stray-dash": {
    severity: "warning",
    means: "parts that look meant together stand in two alternatives",
    next: "remove the dash before the second part if both were meant together",
  },
  superseded: {
    severity: "warning",
    means: "an older PeerAuthentication of the same scope counts in its place",
    next: "merge the two policies into one",
  },
  "ignored-selector": {
    severity: "warning",
    means: "in the root namespace a PeerAuthentication with a selector is ignored",
    next: "move it into the workload's namespace, or remove the selector",
  },
  "udp-not-judged": {
    severity: "info",
    means: "`STRICT` or an ALLOW policy selects a workload with UDP ports, and no policy judges UDP",
    next: "refuse UDP in the mesh (`--udp refuse`), or limit it with a NetworkPolicy",
  },
  "host-without-port": {
    severity: "info",
    means: "a host without port does not match requests that name one",
    next: "add the host with its port, or with `:*`",
  },
  "redundant-rule": {
    severity: "info",
    means: "another rule already matches everything that this one matches",
    next: "remove one of the two",
  },
  "either-is-enough": {
    severity: "info",
    means: "two alternatives stand side by side, and either is enough",
    next: "remove the dash before the second part if both were meant together",
  },
  "allows-nothing": {
    severity: "info",
    means: "an ALLOW policy without rules refuses everything",
    next: "if all is to be allowed, write `rules: [{}]`",
  },
  "token-not-required": {
    severity: "info",
    means: "a bad token is refused, and requests without one pass",
    next: "add an AuthorizationPolicy with `requestPrincipals`, or set `presence: REQUIRED`",
  },
  "analysis-limited": {
    severity: "info",
    means: "the set is too large to compare everything in it",
    next: "analyse one namespace at a time",
  },
} as const satisfies FaultTable & { readonly [code: string]: { readonly severity: Severity } }

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
  return {
    code,
    severity: FINDINGS[code].severity,
    kind,
    namespace: metadata.namespace,
    name: metadata.name,
    path,
    why,
    fix,
  }
}
