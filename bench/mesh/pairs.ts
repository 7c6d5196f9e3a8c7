// SPDX-License-Identifier: Apache-2.0
// Starts a pair of proxies on one site, each proxy on one thread, or calls the application directly.

import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import type { Material } from "../proxy/material.js"
import type { Started } from "../proxy/rounds.js"
import { IS_CAPTURED, Site } from "./site.js"
import { callerOf, type Scenario, SERVICE, upstreamOf } from "./work.js"

export interface PairOptions {
  readonly scenario: Scenario
  readonly site: Site
  /** Port of the application. */
  readonly upstream: number
  /** Port of the server's proxy, on the site's address for it. */
  readonly inbound: number
  /** Port of the caller's proxy, on loopback. */
  readonly outbound: number
  /** Folder with the files of `makeMaterial`. */
  readonly folder: string
}

/** The commands that start the proxies. Without one for the server, the caller's proxy is both. */
export interface Commands {
  readonly caller: readonly string[]
  readonly server?: readonly string[]
}

export interface Pair {
  readonly name: string
  /** Its program; undefined if it is not installed. */
  readonly program: string | undefined
  /** Without capture, callers name the Service to the proxy instead of connecting to it. */
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

/** If something cannot start, ends what has been started. */
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
