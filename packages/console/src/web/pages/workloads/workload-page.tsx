// SPDX-License-Identifier: Apache-2.0
// One workload: its proxy, mTLS modes, policies, possible callers, and recorded calls.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { ObservedCall, ProxyReport, WorkloadReport } from "../../api/answers.js"
import { keyOf } from "../../api/objects.js"
import { useAnswer, useAnswers, usePods } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { Card, PageHead } from "../../ui/card.js"
import { Loaded, Skeleton } from "../../ui/loaded.js"
import { principalOf } from "../../ui/names.js"
import { Ago } from "../../ui/time.js"
import { serviceOf } from "../graph/services.js"
import { ProxyState } from "../overview/proxies.js"
import { CallTable } from "./call-table.js"
import { Callers } from "./callers.js"
import { PolicyOrder } from "./policy-order.js"
import { PortModes } from "./port-modes.js"
import { SuggestPolicy } from "./suggest-policy.js"
import { labelsOf, PodState } from "./workload-list.js"

interface WorkloadPageProps {
  readonly namespace: string
  readonly name: string
}

export function WorkloadPage({ namespace, name }: WorkloadPageProps): ReactNode {
  const key = `${namespace}/${name}`
  const pods = usePods()
  const proxies = useAnswers<ProxyReport>("proxies")
  const proxy = proxies.data?.items.find(one => keyOf(one) === key || one.spec.workload === key)
  const pod = pods.data?.find(one => keyOf(one) === key || (proxy !== undefined && keyOf(one) === keyOf(proxy)))
  /** The Deployment or another owner of the Pods: calls are recorded under its name. */
  const owner = proxy?.spec.workload ?? key
  const report = useAnswer<WorkloadReport>("workloads", namespace, name)
  const calls = useAnswers<ObservedCall>(`calls?workload=${encodeURIComponent(owner)}`)
  const mayAsk = useMayAsk("callers")
  /** Whether the upper part has its final height, so that nothing below it moves any more. */
  const isKnown = !pods.isPending && (pod === undefined || !report.isPending)
  return (
    <>
      <PageHead title={`Workload ${key}`}>
        <Link className="button" href={`/map/${serviceOf(pod) ?? owner}`}>
          Map
        </Link>
        <Link className="button" href={`/traffic?workload=${encodeURIComponent(key)}`}>
          Traffic
        </Link>
        <Link className="button" href={`/playground?workload=${encodeURIComponent(owner)}`}>
          Try a request
        </Link>
      </PageHead>
      {pods.isPending && <Skeleton />}
      {pods.data !== undefined && pod === undefined && (
        <p role="alert">This workload does not exist. It may have been replaced by one with another name.</p>
      )}
      {pod !== undefined && (
        <Card title="State">
          <dl className="facts">
            <dt>State</dt>
            <dd>
              <PodState pod={pod} />
            </dd>
            <dt>Identity</dt>
            <dd>
              {report.data === undefined
                ? `ns/${namespace}/sa/${pod.spec?.serviceAccountName}`
                : principalOf(report.data.spec.identity)}
            </dd>
            <dt>Labels</dt>
            <dd>{labelsOf(pod)}</dd>
            <dt>Proxy</dt>
            <dd>
              {proxy === undefined ? (
                "unknown"
              ) : (
                <>
                  <ProxyState {...proxy.spec} />, revision {proxy.spec.revision ?? "none"}, connected{" "}
                  <Ago at={proxy.spec.connectedAt} />
                </>
              )}
            </dd>
            <dt>Certificate</dt>
            <dd>
              {proxy?.spec.certificateNotAfter === undefined ? (
                "unknown"
              ) : (
                <>
                  expires <Ago at={proxy.spec.certificateNotAfter} />
                </>
              )}
            </dd>
          </dl>
        </Card>
      )}
      {pod !== undefined && (
        <Loaded query={report}>
          {({ spec }) => (
            <>
              <PortModes of={spec} />
              <PolicyOrder of={spec} />
            </>
          )}
        </Loaded>
      )}
      {isKnown && (
        <>
          <Card title="Who can call it" note="proved" flush className="callers">
            {mayAsk === true && <Callers workload={owner} />}
            {mayAsk === false && (
              <p className="hint">
                Proofs need the right to create <code>callers</code>, which the role <code>edit</code> has.
              </p>
            )}
          </Card>
          <Card title="Who called it" note="recorded calls" flush>
            <Loaded query={calls}>{({ items }) => <CallTable calls={items.map(({ spec }) => spec)} />}</Loaded>
          </Card>
          <SuggestPolicy workload={owner} />
        </>
      )}
    </>
  )
}
