// SPDX-License-Identifier: Apache-2.0
// The health port. It opens before any slow step, so that probes can see what is still missing.

import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { bindHost } from "@merlon/xds/runtime"
import { healthServer } from "../observe/health-server.js"
import type { ControlMetrics } from "../observe/metrics.js"
import { type ProxyReportSources, proxyReports } from "../observe/proxy-report.js"
import type { ControlPlaneOptions } from "../options.js"
import type { Closers } from "./closers.js"

/** Sources of the port's pages, each as soon as it exists. */
export interface HealthPortSources {
  metrics?: ControlMetrics
  proxies?: ProxyReportSources
}

/** Returns the port. */
export async function openHealthPort(
  { listen }: ControlPlaneOptions,
  missing: ReadonlySet<string>,
  sources: HealthPortSources,
  closers: Closers,
): Promise<number> {
  const server = healthServer({
    missing: () => [...missing],
    metrics: async () => {
      const { registry } = sources.metrics ?? {}
      return { type: registry?.contentType ?? "text/plain", text: (await registry?.metrics()) ?? "" }
    },
    proxies: (after, limit) => (sources.proxies === undefined ? [] : proxyReports(sources.proxies, after, limit)),
  })
  server.listen({ host: bindHost(listen.host), port: listen.healthPort })
  await once(server, "listening")
  closers.add(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port // a TCP server has one
}
