// SPDX-License-Identifier: Apache-2.0
// Calls between many services, answered in place of the control plane's own: what the map makes of them is tested, not who
// made them.

import type { Page } from "playwright-core"

export const NAMESPACES = 20
export const SERVICES = 300

/** A chain of calls through each namespace, and one from each namespace to the next. */
export async function answerManyServices(page: Page): Promise<void> {
  const each = SERVICES / NAMESPACES
  const call = (from: string, to: string, at: number) => ({
    metadata: { name: `call-${at}`, namespace: to.split("/")[0] },
    spec: {
      ...{
        workload: to,
        caller: `cluster.local/ns/${from.replace("/", "/sa/")}`,
        tls: true,
        port: 8080,
        count: at + 1,
      },
      ...{ method: "GET", path: "/", verdict: at % 97 === 0 ? "deny" : "allow", stage: "allow" },
      ...{ firstSeen: "2026-01-01T00:00:00Z", lastSeen: "2026-01-01T00:01:00Z" },
    },
  })
  const name = (namespace: number, service: number): string => `team-${namespace + 1}/service-${service + 1}`
  const items = Array.from({ length: NAMESPACES }, (_, namespace) => [
    ...Array.from({ length: each - 1 }, (__, service) =>
      call(name(namespace, service >> 1), name(namespace, service + 1), namespace * each + service),
    ),
    call(name(namespace, each - 1), name((namespace + 1) % NAMESPACES, 0), namespace * each + each - 1),
  ]).flat()
  await page.route(/\/calls\?/, route => route.fulfill({ json: { items, metadata: {} } }))
}
