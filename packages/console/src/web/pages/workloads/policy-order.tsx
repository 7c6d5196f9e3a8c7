// SPDX-License-Identifier: Apache-2.0
// Which policies select a workload, in the order in which a request meets them.

import type { ReactNode } from "react"
import { Link } from "wouter"
import { keyOf, type Pod, type Policy } from "../../api/objects.js"
import { useAllPolicies } from "../../api/queries.js"
import { useSession } from "../../shell/session.js"
import { PolicyState } from "../policies/policy-list.js"

interface Step {
  readonly title: string
  readonly policies: readonly Policy[]
}

export function PolicyOrder({ pod }: { readonly pod: Pod }): ReactNode {
  const { names } = useSession()
  const all = useAllPolicies().flatMap(({ entry, query }) =>
    (query.data ?? []).map((policy): Policy => ({ ...policy, kind: entry.kind })),
  )
  const selecting = all.filter(policy => selects(policy, pod, names.rootNamespace))
  const of = (kind: string, action?: string): readonly Policy[] =>
    selecting.filter(
      policy => policy.kind === kind && (action === undefined || (policy.spec?.action ?? "ALLOW") === action),
    )
  const steps: readonly Step[] = [
    { title: "transport", policies: of("PeerAuthentication") },
    { title: "token", policies: of("RequestAuthentication") },
    { title: "audit", policies: of("AuthorizationPolicy", "AUDIT") },
    { title: "deny", policies: of("AuthorizationPolicy", "DENY") },
    { title: "allow", policies: of("AuthorizationPolicy", "ALLOW") },
  ]
  return (
    <section aria-labelledby="order">
      <h2 id="order">Policies, in the order a request meets them</h2>
      <ol className="plain">
        {steps.map(({ title, policies }) => (
          <li key={title}>
            <strong>{title}</strong>{" "}
            {policies.length === 0
              ? "none"
              : policies.map(policy => (
                  <span key={keyOf(policy)} className="listed">
                    <Link href={`/policies/${policy.kind}/${keyOf(policy)}`}>{keyOf(policy)}</Link>{" "}
                    <PolicyState policy={policy} />
                  </span>
                ))}
          </li>
        ))}
      </ol>
    </section>
  )
}

/** By labels. Policies that name their targets are asked by their status alone, and stand under `Policies`. */
function selects({ metadata, spec }: Policy, pod: Pod, rootNamespace: string): boolean {
  if (metadata.namespace !== pod.metadata.namespace && metadata.namespace !== rootNamespace) return false
  if (spec?.targetRefs !== undefined || spec?.targetRef !== undefined) return false
  const { matchLabels = {} } = (spec?.selector ?? {}) as { readonly matchLabels?: Readonly<Record<string, string>> } // by its schema
  return Object.entries(matchLabels).every(([key, value]) => pod.metadata.labels?.[key] === value)
}
