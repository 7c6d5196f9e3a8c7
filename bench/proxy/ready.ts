// SPDX-License-Identifier: Apache-2.0
// How soon xserver is ready with its state on disk and no reachable control plane: the median of several starts.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { get } from "node:http"
import { join } from "node:path"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { MERLOND } from "./peers.js"
import { writeProxyState } from "./proxy-state.js"
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
  const [listen, admin, health] = [await freePort(), await freePort(), await freePort()]
  const policies = ["request-authentication.json", "rules-10-0.json"]
  const { bootstrap } = writeProxyState({
    folder,
    name: "ready",
    port: { application: 8080, listen, upstreamProtocol: "http/1.1" },
    policies: policies.map(file => JSON.parse(readFileSync(join(folder, file), "utf8"))),
    credentials: "server",
  })
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
