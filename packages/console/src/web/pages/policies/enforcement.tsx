// SPDX-License-Identifier: Apache-2.0
// A progress bar: how many proxies enforce the applied version of a policy.

import { useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useEffect } from "react"
import { conditionOf, type Policy } from "../../api/objects.js"
import { LAST_CHANGE } from "../../api/queries.js"

export function Enforcement({ policy }: { readonly policy: Policy }): ReactNode {
  const enforced = conditionOf(policy, "Enforced")
  const generation = policy.metadata.generation ?? 0
  const [, done = "", all = ""] = /(\d+) of (\d+) prox/.exec(enforced?.message ?? "") ?? []
  const current = enforced?.observedGeneration === generation
  const queries = useQueryClient()
  const isEnforced = current && done === all
  // Reloads explanations and proofs, policies with their status, and the last change: the cached ones are out of date.
  useEffect(() => {
    if (!isEnforced) return
    void queries.invalidateQueries({ queryKey: ["asked"] })
    void queries.invalidateQueries({ queryKey: ["policies"] })
    void queries.invalidateQueries({ queryKey: ["answers", LAST_CHANGE] })
  }, [queries, isEnforced])
  if (current && all === "") return null
  return (
    <p className="enforcement">
      {current && <progress aria-label="Proxies that enforce it" value={Number(done)} max={Number(all)} />}{" "}
      {/* This element stays, since screen readers announce only changes inside an existing status element. */}
      <span role="status">
        {current
          ? `enforced by ${done} of ${all} ${all === "1" ? "proxy" : "proxies"}`
          : `Generation ${generation} is stored; waiting for proxies.`}
      </span>
    </p>
  )
}
