// SPDX-License-Identifier: Apache-2.0
// A pair of proxies on one site, each proxy on one thread; and the application called directly.

import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import type { Material } from "../proxy/material.js"
import type { Started } from "../proxy/rounds.js"
import { IS_CAPTURED, Site } from "./site.js"
import { callerOf, type Scenario, SERVICE, upstreamOf } from "./work.js"

export interface PairOptions {
  readonly scenario: Scenario
  readonly site: Site
  /** Where the application listens. */
  readonly upstream: number
  /** Where the server's proxy listens, on the site's address for it. */
  readonly inbound: number
  /** Where the caller's proxy listens, on loopback. */
  readonly outbound: number
  /** Of the material. */
  readonly folder: string
}

/** What starts the proxies. Without one for the server, the caller's is both. */
export interface Commands {
  readonly caller: readonly string[]
  readonly server?: readonly string[]
}

export interface Pair {
  readonly name: string
  /** Its program; undefined where there is none. */
  readonly program: string | undefined
  /** Where nothing is captured, programs name the Service to the proxy instead of connecting to it. */
  readonly isHttpProxy: boolean
  can(scenario: Scenario): boolean
  commands(options: PairOptions): Commands | Promise<Commands>
}

export function startPair(pair: Pair, scenario: Scenario, material: Material): Promise<Started> {
  return onSite(scenario, async (site, upstream) => {
    const [inbound, outbound] = [await freePort(), await freePort()]
    const { folder } = material
    const { caller, server } = await pair.commands({ scenario, site, upstream, inbound, outbound, folder })
    const atServer = server === undefined ? [] : [await site.start("server", server, inbound)]
    const processes = [await site.start("caller's proxy", caller, outbound), ...atServer]
    site.capture(outbound)
    const target = IS_CAPTURED
      ? { host: site.service, port: SERVICE.port, isHttpProxy: false }
      : { host: site.service, port: outbound, isHttpProxy: pair.isHttpProxy }
    return { processes, caller: callerOf(scenario, target, material, site) }
  })
}

export function startDirect(scenario: Scenario, material: Material): Promise<Started> {
  return onSite(scenario, async (site, upstream) => {
    const target = { host: site.server, port: upstream, isHttpProxy: false }
    return { processes: [], caller: callerOf(scenario, target, material, site) }
  })
}

/** What has begun ends where the rest cannot begin. */
async function onSite(
  scenario: Scenario,
  start: (site: Site, upstream: number) => Promise<Omit<Started, "end">>,
): Promise<Started> {
  const site = new Site(scenario.together === true)
  try {
    const { upstreams } = await site.application()
    return { ...(await start(site, upstreamOf(scenario, upstreams))), end: () => site.end() }
  } catch (error) {
    await site.end()
    throw error
  }
}
