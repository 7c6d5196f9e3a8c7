// SPDX-License-Identifier: Apache-2.0
// Workloads' certificates, those that end first. They are renewed at half their life, so one that is near its end is a proxy
// that cannot renew.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Answer, ProxyReport } from "../../api/answers.js"
import { keyOf } from "../../api/objects.js"
import { More } from "../../ui/more.js"
import { Ago, count } from "../../ui/time.js"

const MOST = 5

export function Certificates({ proxies }: { readonly proxies: readonly Answer<ProxyReport>[] }): ReactNode {
  const known = proxies
    .flatMap(proxy =>
      proxy.spec.certificateNotAfter === undefined ? [] : [{ proxy, until: proxy.spec.certificateNotAfter }],
    )
    .sort((a, b) => (a.until < b.until ? -1 : 1))
  const unknown = proxies.length - known.length
  return (
    <section aria-labelledby="certificates">
      <h2 id="certificates">Certificates, by their end</h2>
      {proxies.length === 0 && <p>No proxy is connected.</p>}
      <ul className="plain">
        {known.slice(0, MOST).map(({ proxy, until }) => (
          <li key={keyOf(proxy)}>
            <Link href={`/workloads/${keyOf(proxy)}`}>{keyOf(proxy)}</Link> <Ago at={until} />
          </li>
        ))}
      </ul>
      <More shown={MOST} of={known.length} hint="they last longer" />
      {unknown > 0 && (
        <p className="hint">
          {count(unknown)} {unknown === 1 ? "proxy does" : "proxies do"} not say; older ones do not.
        </p>
      )}
    </section>
  )
}
