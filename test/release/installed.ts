// SPDX-License-Identifier: Apache-2.0
// What a user does with an installed program: prints its version, runs a mesh, calls a sample, stops the mesh.

import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { ownAndIngressPorts } from "../e2e/local/support/own-ports.js"

const run = promisify(execFile)

export interface Tried {
  readonly versions: readonly string[]
  readonly called: number
  readonly routed: string
  readonly status: string
  /** A result of the proof thread: the policy selects no running workload. */
  readonly compared: string
  /** The response of `merlonctl mcp`, which starts a thread too. */
  readonly asked: string
  /** Warnings of processes that could not call the C library. */
  readonly warnings: readonly string[]
}

/** `bin` contains `merlond` and `merlonctl`. Nothing of the repository can be reached from `home`. */
export async function tryMesh(bin: string, home: string, path = process.env.PATH ?? ""): Promise<Tried> {
  const env = { PATH: `${bin}:${path}`, HOME: home }
  const ctl = async (...args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await run(join(bin, "merlonctl"), [...args], { cwd: home, env, maxBuffer: 1 << 24 })
    return args[0] === "apply" ? stdout + stderr : stdout
  }
  const versions = [await ctl("--version"), (await run(join(bin, "merlond"), ["--version"], { cwd: home, env })).stdout]
  const ports = await ownAndIngressPorts()
  const port = ports.find(flag => flag.startsWith("httpbin.foo="))?.split("=")[1]
  await ctl("up", "--detach", ...ports)
  try {
    const { status: called } = await fetch(`http://127.0.0.1:${port}/headers`)
    const routed = await ctl("exec", "consumer", "-n", "app", "--", "xclient", "--print-route")
    const compared = await comparedIn(home, file => ctl("apply", "-f", file))
    const logs = [await ctl("logs", "control-plane"), await ctl("logs", "httpbin", "-n", "foo")].join("").split("\n")
    const warnings = logs.filter(line => line.includes("cannot call the C library"))
    return {
      versions: versions.map(text => text.trim()),
      called,
      routed,
      status: await ctl("status"),
      compared,
      asked: await askedIn(home, join(bin, "merlonctl"), env),
      warnings,
    }
  } finally {
    await ctl("down")
  }
}

const LONELY = `apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: {name: lonely, namespace: foo}
spec: {selector: {matchLabels: {app: nobody}}, rules: [{}]}
`

async function askedIn(home: string, program: string, env: NodeJS.ProcessEnv): Promise<string> {
  const server = run(program, ["mcp"], { cwd: home, env })
  const params = { name: "analyze", arguments: { files: ["lonely.yaml"], format: "text" } }
  server.child.stdin?.end(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })}\n`)
  return (await server).stdout
}

/** Applies the policy until the result is reported: on a busy machine there may be no time for it at first. */
async function comparedIn(home: string, apply: (file: string) => Promise<string>): Promise<string> {
  const file = join(home, "lonely.yaml")
  writeFileSync(file, LONELY)
  let result = ""
  for (let turn = 0; turn < 30 && !result.includes("nobody"); turn++) result = await apply(file)
  return result
}
