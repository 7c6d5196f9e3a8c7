// SPDX-License-Identifier: Apache-2.0
// Overview: problems that need attention, each with an action, then the health of the mesh.

import { type ReactNode, useMemo } from "react"
import type { EnforcedNote, ObservedCall, ProxyReport, Readiness, TrafficNote } from "../../api/answers.js"
import { keyOf, type Pod, type Policy } from "../../api/objects.js"
import { MOST_PODS, useAllPolicies, useAnswers, usePods } from "../../api/queries.js"
import { isIn, useNamespace } from "../../shell/namespace.js"
import { PageHead } from "../../ui/card.js"
import { Failure } from "../../ui/failure.js"
import { count } from "../../ui/time.js"
import { MapCard } from "../graph/map-card.js"
import { Services } from "../graph/services.js"
import { Figures } from "./figures.js"
import { LastChange, useLastChange } from "./last-change.js"
import { useOpenDenials } from "./open-denials.js"
import { deniedProblems, plaintextProblems, podProblems, policyProblems, proxyProblems, sorted } from "./problems.js"
import { Problems } from "./problems-list.js"
import { Proxies } from "./proxies.js"
import { Traffic } from "./traffic.js"
import "./overview.css"

export function Overview(): ReactNode {
  const namespace = useNamespace()
  const kinds = useAllPolicies()
  const pods = usePods()
  const proxies = useAnswers<ProxyReport, EnforcedNote>("proxies")
  const readiness = useAnswers<Readiness>("readiness")
  const traffic = useAnswers<ObservedCall, TrafficNote>("calls?limit=1")
  const denied = useAnswers<ObservedCall>("calls?since=1h&verdict=deny")
  const policies = kinds.flatMap(({ entry, query }) =>
    (query.data ?? [])
      .filter(policy => isIn(namespace, keyOf(policy)))
      .map((policy): Policy => ({ ...policy, kind: entry.kind })),
  )
  const ownPods = (pods.data ?? []).filter(pod => isIn(namespace, keyOf(pod)))
  const ownProxies = proxies.data?.items.filter(proxy => isIn(namespace, keyOf(proxy)))
  const ownReadiness = readiness.data?.items.filter(one => isIn(namespace, keyOf(one)))
  const services = useMemo(() => new Services(pods.data ?? []), [pods.data])
  const ownDenied = (denied.data?.items ?? [])
    .map(({ spec }) => spec)
    // A deleted workload denies nothing any more.
    .filter(({ workload }) => isIn(namespace, workload) && !isGone(workload, pods.data, services))
  const lastChange = useLastChange(namespace)
  const openDenials = useOpenDenials(ownDenied, lastChange)
  const problems = sorted([
    ...policyProblems(policies),
    ...podProblems(ownPods),
    ...proxyProblems(ownProxies ?? []),
    ...deniedProblems(openDenials.calls, services),
    ...plaintextProblems(ownReadiness ?? []),
  ])
  const loading =
    pods.isPending || denied.isPending || openDenials.isPending || kinds.some(({ query }) => query.isPending)
  const failure = pods.error ?? kinds.find(({ query }) => query.error !== null)?.query.error ?? undefined
  const lagging = ownProxies?.filter(({ spec }) => spec.behind > 0).length ?? 0
  return (
    <>
      <PageHead
        className="overview-head"
        title={titleOf(problems.length, loading && problems.length === 0)}
        sub={
          <>
            {namespace !== undefined && `Namespace ${namespace}. `}
            {ownProxies !== undefined &&
              ownProxies.length > 0 &&
              (lagging === 0
                ? "Every proxy enforces the latest policies."
                : `${count(lagging)} of ${count(ownProxies.length)} proxies lag behind the latest policies.`)}
            <LastChange of={lastChange.entry} />
          </>
        }
      />
      {failure !== undefined && <Failure error={failure} />}
      <Figures
        proxies={ownProxies}
        enforced={proxies.data?.enforced}
        minutes={traffic.data?.traffic}
        readiness={ownReadiness}
        invariants={policies.filter(({ kind }) => kind === "PolicyInvariant")}
      />
      <div className={loading ? "columns waiting" : "columns"}>
        <div>
          <Problems problems={problems} loading={loading} known={failure === undefined} />
          {/* Shown once the list above has loaded, since its height is not known before. */}
          {!loading && <Traffic query={traffic} />}
        </div>
        <div>
          <MapCard namespace={namespace} />
          <Proxies query={proxies} namespace={namespace} />
        </div>
      </div>
    </>
  )
}

/** Whether no Pod of the workload is left. False while not all Pods are known. */
function isGone(workload: string, pods: readonly Pod[] | undefined, services: Services): boolean {
  if (pods === undefined || pods.length >= MOST_PODS) return false
  return services.podsOf(services.ofWorkload(workload)).length === 0
}

function titleOf(problems: number, loading: boolean): string {
  if (loading) return "Checking what needs attention"
  if (problems === 0) return "Nothing needs attention"
  return problems === 1 ? "1 thing needs attention" : `${count(problems)} things need attention`
}
