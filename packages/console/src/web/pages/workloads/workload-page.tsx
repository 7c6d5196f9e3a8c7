// SPDX-License-Identifier: Apache-2.0
// One workload: its proxy, the mode of its ports, who can call it, who did.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { ObservedCall, ProxyReport, WorkloadReport } from "../../api/answers.js"
import { keyOf } from "../../api/objects.js"
import { useAnswer, useAnswers, usePods } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { Loaded } from "../../ui/loaded.js"
import { principalOf } from "../../ui/names.js"
import { Ago } from "../../ui/time.js"
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
  /** What runs its Pods, by which calls are kept. */
  const owner = proxy?.spec.workload ?? key
  const report = useAnswer<WorkloadReport>("workloads", namespace, name)
  const calls = useAnswers<ObservedCall>(`calls?workload=${encodeURIComponent(owner)}`)
  const mayAsk = useMayAsk("callers")
  return (
    <>
      <h1>Workload {key}</h1>
      <p className="bar">
        <Link href={`/graph/${owner}`}>Its neighbours</Link>
        <Link href={`/decisions?workload=${encodeURIComponent(key)}`}>Its decisions</Link>
        <Link href={`/try?workload=${encodeURIComponent(owner)}`}>Try a request</Link>
      </p>
      {pods.data !== undefined && pod === undefined && (
        <p role="alert">There is no such workload now. It may have been replaced by one of another name.</p>
      )}
      {pod !== undefined && (
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
              "not known"
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
              "not known"
            ) : (
              <>
                ends <Ago at={proxy.spec.certificateNotAfter} />
              </>
            )}
          </dd>
        </dl>
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
      <section aria-labelledby="can-call">
        <h2 id="can-call">Who can call it</h2>
        {mayAsk === true && <Callers workload={owner} />}
        {mayAsk === false && <p className="hint">Proofs take the right to create `callers`, which you do not have.</p>}
      </section>
      <section aria-labelledby="called">
        <h2 id="called">Who called it</h2>
        <Loaded query={calls}>{({ items }) => <CallTable calls={items.map(({ spec }) => spec)} />}</Loaded>
      </section>
      <SuggestPolicy workload={owner} />
    </>
  )
}
