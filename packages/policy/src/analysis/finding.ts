// SPDX-License-Identifier: Apache-2.0
// The closed table of codes that an analysis can report, with their severity. A finding names the place, the reason and
// the fix.

import type { Kind, PolicyDocument } from "../resources/document.js"
import { type ErrorTable, type Path, renderPath } from "../resources/document-error.js"

/**
 * `error`: the policy does not do what it says. `warning`: it probably does not do what was intended. `info`: worth
 * knowing.
 */
export type Severity = "error" | "warning" | "info"

export const FINDINGS = {
  "no-token-possible": {
    severity: "error",
    cause: "a rule requires a token, and no RequestAuthentication verifies one there",
    fix: "add a RequestAuthentication with the issuer of these tokens to the same scope",
  },
  "rule-never-matches": {
    severity: "error",
    cause: "conditions of a rule contradict each other",
    fix: "remove the contradiction, or the alternative if it is not needed",
  },
  "invariant-holds-vacuously": {
    severity: "error",
    cause: "no request can match a `never` of an invariant, so it holds for every policy",
    fix: "write paths in their normalized form, and remove contradictions",
  },
  "selector-selects-nothing": {
    severity: "warning",
    cause: "no workload has the labels of the selector",
    fix: "use the labels of the intended workload, or remove the policy",
  },
  "target-leads-nowhere": {
    severity: "warning",
    cause: "the target Service has no workloads",
    fix: "create the Service with a selector in the policy's namespace, or target another",
  },
  "shadowed-by-deny": {
    severity: "warning",
    cause: "a DENY rule denies everything that the rule allows",
    fix: "narrow the DENY rule, or remove this one",
  },
  "unknown-issuer": {
    severity: "warning",
    cause: "no RequestAuthentication in scope has the issuer of the principal",
    fix: "write the issuer as in its RequestAuthentication, or add one",
  },
  "unknown-trust-domain": {
    severity: "warning",
    cause: "no peer can have the trust domain of the principal",
    fix: "use the mesh's trust domain, or add the other to its aliases",
  },
  "admits-anonymous": {
    severity: "warning",
    cause: "callers without an identity also satisfy what the rule excludes by name",
    fix: 'add `requestPrincipals: ["*"]` or `principals: ["*"]` beside it',
  },
  "deny-widens-on-tcp": {
    severity: "warning",
    cause: "on TCP ports, an HTTP condition in a DENY rule counts as matched",
    fix: "list the HTTP ports that the rule is for",
  },
  "closed-by-one-spelling": {
    severity: "warning",
    cause:
      "a path or host is denied in one spelling and allowed in another: with a trailing slash, `;parameters`, a port, `%2f`, or another case",
    fix: "use the spelling that the message suggests, or allow only what is needed",
  },
  "stray-dash": {
    severity: "warning",
    cause: "conditions that look like one alternative are two",
    fix: "remove the dash before the second one if both must hold together",
  },
  superseded: {
    severity: "warning",
    cause: "an older PeerAuthentication of the same scope takes precedence",
    fix: "merge the two policies into one",
  },
  "ignored-selector": {
    severity: "warning",
    cause: "a PeerAuthentication with a selector is ignored in the root namespace",
    fix: "move it to the workload's namespace, or remove the selector",
  },
  "udp-not-judged": {
    severity: "info",
    cause: "`STRICT` or an ALLOW policy selects a workload with UDP ports, and policies do not apply to UDP",
    fix: "deny UDP in the mesh (`--udp refuse`), or restrict it with a NetworkPolicy",
  },
  "host-without-port": {
    severity: "info",
    cause: "a host without a port does not match requests that name one",
    fix: "add the host with its port, or with `:*`",
  },
  "redundant-rule": {
    severity: "info",
    cause: "another rule already matches everything that this one matches",
    fix: "remove one of the two",
  },
  "either-is-enough": {
    severity: "info",
    cause: "the rule has two alternatives, and either one is enough",
    fix: "remove the dash before the second one if both must hold together",
  },
  "allows-nothing": {
    severity: "info",
    cause: "an ALLOW policy without rules denies everything",
    fix: "write `rules: [{}]` to allow everything",
  },
  "token-not-required": {
    severity: "info",
    cause: "invalid tokens are denied, and requests without a token are allowed",
    fix: "add an AuthorizationPolicy with `requestPrincipals`, or set `presence: REQUIRED`",
  },
  "analysis-limited": {
    severity: "info",
    cause: "the set is too large to compare all of its rules",
    fix: "analyze one namespace at a time",
  },
} as const satisfies ErrorTable & { readonly [code: string]: { readonly severity: Severity } }

export type FindingCode = keyof typeof FINDINGS

export interface AnalysisFinding {
  readonly code: FindingCode
  readonly severity: Severity
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  /** Such as `spec.rules[0].from[1]`; empty for the document as a whole. */
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
