// SPDX-License-Identifier: Apache-2.0
// Overview: what is wrong now and what to do, then how the mesh is.

import type { ReactNode } from "react"
import type { EnforcedNote, ProxyReport, Readiness } from "../../api/answers.js"
import type { Policy } from "../../api/objects.js"
import { useAllPolicies, useAnswers, usePods } from "../../api/queries.js"
import { useSession } from "../../shell/session.js"
import { Failure } from "../../ui/failure.js"
import { Certificates } from "./certificates.js"
import { Figures } from "./figures.js"
import { Findings } from "./findings.js"
import { Invariants } from "./invariants.js"
import { KeySets } from "./key-sets.js"
import { podProblems, policyProblems, proxyProblems, sorted } from "./problems.js"
import { Problems } from "./problems-list.js"
import { Proxies } from "./proxies.js"
import { StrictReadiness } from "./strict-readiness.js"
import { Traffic } from "./traffic.js"
import "./overview.css"

export function Overview(): ReactNode {
  const { names } = useSession()
  const kinds = useAllPolicies()
  const pods = usePods()
  const proxies = useAnswers<ProxyReport, EnforcedNote>("proxies")
  const readiness = useAnswers<Readiness>("readiness")
  const policies = kinds.flatMap(({ entry, query }) =>
    (query.data ?? []).map((policy): Policy => ({ ...policy, kind: entry.kind })),
  )
  const of = (kind: string): readonly Policy[] => policies.filter(policy => policy.kind === kind)
  const problems = sorted([
    ...policyProblems(policies),
    ...podProblems(pods.data ?? []),
    ...proxyProblems(proxies.data?.items ?? []),
  ])
  const loading = pods.isPending || kinds.some(({ query }) => query.isPending)
  const failure = pods.error ?? kinds.find(({ query }) => query.error !== null)?.query.error ?? undefined
  return (
    <>
      <h1>Overview of {names.mesh}</h1>
      {failure !== undefined && <Failure error={failure} />}
      <Problems problems={problems} loading={loading} known={failure === undefined} />
      <Figures
        {...{ policies, problems: problems.length, pods: pods.data ?? [] }}
        proxies={proxies.data?.items}
        enforced={proxies.data?.enforced}
      />
      <div className="columns">
        <Traffic />
        <Proxies query={proxies} />
        <Certificates proxies={proxies.data?.items ?? []} />
        <StrictReadiness query={readiness} />
        <Invariants invariants={of("PolicyInvariant")} />
        <KeySets authentications={of("RequestAuthentication")} />
        <Findings />
      </div>
    </>
  )
}
