// SPDX-License-Identifier: Apache-2.0
// Our pair: `merlond proxy` on both sides, each started from the state on disk that a control plane would have given
// it. The server accepts only mTLS, and allows one caller by its principal.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { SavedRoutes } from "@merlon/xclient"
import { clusterName, type HostRoutesSpec } from "@merlon/xds"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { TestRoutes } from "../../packages/xclient/src/testing/test-routes.js"
import { CALLER_ID, document, ISSUER, SERVER_ID } from "../proxy/material.js"
import { MERLOND } from "../proxy/peers.js"
import { type ProxyFiles, trustOf, writeProxyState } from "../proxy/proxy-state.js"
import type { Commands, Pair, PairOptions } from "./pairs.js"
import { IS_CAPTURED } from "./site.js"
import { isHttp2, type Scenario, SERVICE } from "./work.js"

/** `node` is the program that runs it: a path, or a name on PATH. */
export function merlonOn(name: string, node: string | undefined): Pair {
  return {
    name,
    program: node,
    // Applications use HTTP/1.1 with `http_proxy`.
    can: scenario => IS_CAPTURED || !isHttp2(scenario),
    isHttpProxy: true,
    commands: options => commands(node ?? "node", options),
  }
}

async function commands(node: string, options: PairOptions): Promise<Commands> {
  const { scenario, site, upstream, inbound: listen, outbound, folder } = options
  const taking = {
    folder,
    port: { application: upstream, listen, upstreamProtocol: isHttp2(scenario) ? "h2c" : "http/1.1" },
    policies: policiesFor(scenario, folder),
  } as const
  const called = `${IS_CAPTURED ? site.service : SERVICE.host}:${SERVICE.port}`
  if (scenario.together === true) {
    // It calls itself, so the policy and the routes name the same identity.
    const files = writeProxyState({ ...taking, name: site.name, credentials: "client" })
    await keepRoutes(files.state, called, routesTo(site.server, listen, CALLER_ID, folder))
    return { caller: await command(node, files, outbound) }
  }
  const atServer = writeProxyState({ ...taking, name: `${site.name}-server`, credentials: "server" })
  const atCaller = writeProxyState({ folder, name: `${site.name}-caller`, policies: [], credentials: "client" })
  await keepRoutes(atCaller.state, called, routesTo(site.server, listen, SERVER_ID, folder))
  return { caller: await command(node, atCaller, outbound), server: await command(node, atServer, await freePort()) }
}

async function command(node: string, { bootstrap }: ProxyFiles, outbound: number): Promise<readonly string[]> {
  const [admin, health] = [await freePort(), await freePort()]
  const calls = IS_CAPTURED ? ["--outbound", String(outbound)] : ["--http-proxy", `127.0.0.1:${outbound}`]
  const quiet = ["--access-log", "off", "--log-level", "fatal"]
  const ports = ["--admin", `127.0.0.1:${admin}`, "--health", `127.0.0.1:${health}`]
  return [node, MERLOND, "proxy", "--bootstrap", bootstrap, ...calls, ...ports, ...quiet]
}

function policiesFor({ token }: Scenario, folder: string): readonly unknown[] {
  const source = {
    principals: [CALLER_ID.slice("spiffe://".length)],
    ...(token && { requestPrincipals: [`${ISSUER}/alice`] }),
  }
  const when = token ? [{ key: "request.auth.claims[role]", values: ["group1"] }] : []
  return [
    document("PeerAuthentication", "mode", { mtls: { mode: "STRICT" } }),
    document("AuthorizationPolicy", "callers", { rules: [{ from: [{ source }], when }] }),
    ...(token ? [JSON.parse(readFileSync(join(folder, "request-authentication.json"), "utf8"))] : []),
  ]
}

function routesTo(address: string, port: number, identity: string, folder: string): HostRoutesSpec {
  const key = { ...SERVICE, subset: "" }
  const name = clusterName(key)
  const endpoint = { address, port, healthy: true, workload: "bench/bench", mtlsMode: "STRICT" } as const
  return {
    table: { ...SERVICE, aliases: [], routes: [{ match: [], destinations: [{ cluster: name, weight: 1 }] }] },
    clusters: [{ ...key, name, tlsMode: undefined, sni: SERVICE.host, identities: [identity], endpoints: [endpoint] }],
    services: [{ host: SERVICE.host, ports: [{ port: SERVICE.port, mtlsMode: "STRICT", mixed: false }] }],
    trust: trustOf(folder),
    protocol: "http",
  }
}

/** Writes the routes in the same form as the proxy itself. */
async function keepRoutes(state: string, name: string, spec: HostRoutesSpec): Promise<void> {
  const log = { info() {}, warn() {}, error() {} }
  const filled = new TestRoutes({ answersAbsent: false, followsPolicy: true })
  const kept = new SavedRoutes(filled.knownRoutes, state, log)
  await filled.setPolicy({ mode: "ALLOW_ANY", mtls: [] })
  await filled.set(name, spec)
  await kept.close()
}
