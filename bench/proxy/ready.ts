// SPDX-License-Identifier: Apache-2.0
// How soon xserver is ready with its state on disk and no control plane to ask: the median of several starts.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { get } from "node:http"
import { join } from "node:path"
import { encodeProxyResource, type ProxyResource } from "@merlon/xds"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { HeldResources } from "../../packages/xserver/src/mesh/held-resources.js"
import { keepState } from "../../packages/xserver/src/mesh/kept-state.js"
import { MERLOND } from "./peers.js"
import { usage } from "./running.js"

export interface Readiness {
  readonly starts: number
  readonly wallMs: number
  readonly cpuMs: number
  readonly residentMiB: number
}

const STARTS = 9
const LOOK_MS = 5

export async function measureReadiness(folder: string): Promise<Readiness> {
  const state = join(folder, "state")
  mkdirSync(state, { mode: 0o700 })
  const [listen, admin, health] = [await freePort(), await freePort(), await freePort()]
  keep(folder, state, listen)
  const bootstrap = join(folder, "bootstrap.yaml")
  // Nobody listens on the discard port: the control plane is away.
  writeFileSync(
    bootstrap,
    JSON.stringify({
      controlPlane: { address: "127.0.0.1:9" },
      workload: { namespace: "bench", name: "bench" },
      trustBundle: "ca.pem",
      token: "token",
      state,
    }),
  )
  const args = [MERLOND, "xserver", "--bootstrap", bootstrap, "--log-level", "fatal"]
  args.push("--admin", `127.0.0.1:${admin}`, "--health", `127.0.0.1:${health}`)
  const starts: { wallMs: number; cpuMs: number; residentMiB: number }[] = []
  for (let n = 0; n < STARTS; n++) starts.push(await start(args, health))
  const median = (of: (start: (typeof starts)[number]) => number): number =>
    Math.round(starts.map(of).sort((a, b) => a - b)[STARTS >> 1] ?? 0)
  return {
    starts: STARTS,
    wallMs: median(({ wallMs }) => wallMs),
    cpuMs: median(({ cpuMs }) => cpuMs),
    residentMiB: median(({ residentMiB }) => residentMiB),
  }
}

async function start(args: readonly string[], health: number) {
  const started = performance.now()
  const child = spawn("node", args, { stdio: ["ignore", "ignore", "inherit"] })
  const ended = once(child, "exit")
  try {
    while (!(await isReady(health))) {
      if (child.exitCode !== null) throw new Error(`xserver ended with ${child.exitCode}`)
      await new Promise(resolve => setTimeout(resolve, LOOK_MS))
    }
    const wallMs = performance.now() - started
    const { cpuMicroseconds, residentBytes } = usage(child.pid ?? 0)
    return { wallMs, cpuMs: cpuMicroseconds / 1_000, residentMiB: residentBytes / 1_048_576 }
  } finally {
    child.kill("SIGKILL")
    await ended
  }
}

function isReady(port: number): Promise<boolean> {
  return new Promise(resolve => {
    get({ host: "127.0.0.1", port, path: "/healthz/ready", agent: false }, answer => {
      answer.resume()
      resolve(answer.statusCode === 200)
    }).on("error", () => resolve(false))
  })
}

/** What a proxy that had been told of the benchmark's policies would have kept. */
function keep(folder: string, state: string, listen: number): void {
  const read = (name: string): string => readFileSync(join(folder, name), "utf8")
  const mesh = {
    mesh: "merlon",
    domain: "merlon.dev",
    trustDomain: "cluster.local",
    trustDomainAliases: [],
    pathNormalization: "BASE" as const,
    numTrustedProxies: 0,
  }
  const port = {
    port: 8080,
    listen,
    protocol: "http",
    upstreamProtocol: "http/1.1",
    serviceNames: [],
    upgrades: [],
  } as const
  const workload = {
    mesh,
    namespace: "bench",
    name: "bench",
    serviceAccount: "default",
    labels: {},
    services: [],
    ports: [port],
    probes: {},
  }
  const trust = { bundle: read("ca.pem"), signer: "", revokedIdentities: [], revokedSerials: [] }
  const contents: readonly ProxyResource[] = [
    { kind: "workload", workload },
    { kind: "trust", trust },
    { kind: "policy", document: JSON.parse(read("request-authentication.json")) },
    { kind: "policy", document: JSON.parse(read("rules-10-0.json")) },
  ]
  const resources = contents.map((content, n) => ({
    name: `${content.kind}-${n}`,
    version: "1",
    value: encodeProxyResource(content),
  }))
  keepState(state, {
    held: HeldResources.none.with({ revision: 1, resources, removed: [] }),
    since: Date.now(),
    credentials: { certificateChain: read("server.pem"), privateKey: read("server.key") },
  })
}
