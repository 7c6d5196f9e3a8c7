// SPDX-License-Identifier: Apache-2.0
// The real merlonctl and kubectl, with a separate cluster.

import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { type TestCluster, testCluster } from "../../control/support/test-cluster.js"

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly input?: string
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

export interface Programs {
  readonly cluster: TestCluster
  readonly folder: string
  merlonctl(args: readonly string[], options?: RunOptions): Promise<Ran>
  kubectl(args: readonly string[], options?: RunOptions): Promise<Ran>
  /** Runs until it is killed. */
  follow(args: readonly string[]): ChildProcess
  close(): Promise<void>
}

const MERLONCTL = resolve("packages/cli/bin/merlonctl.js")
const CRDS = [
  "authorizationpolicies",
  "meshservices",
  "peerauthentications",
  "policyinvariants",
  "requestauthentications",
]

export async function startPrograms(): Promise<Programs> {
  const folder = await mkdtemp(join(tmpdir(), "merlonctl-e2e-"))
  const cluster = await testCluster(folder)
  // A separate home: no kubeconfig of the machine, no cache of another server.
  const env = { PATH: process.env.PATH ?? "", HOME: folder, KUBECONFIG: cluster.kubeconfigPath }
  const run = (command: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> =>
    new Promise((done, failed) => {
      const child = spawn(command, [...args], { cwd: options.cwd ?? process.cwd(), env: { ...env, ...options.env } })
      const texts = { out: "", err: "" }
      child.stdout.on("data", (chunk: Buffer) => (texts.out += chunk.toString()))
      child.stderr.on("data", (chunk: Buffer) => (texts.err += chunk.toString()))
      child.once("error", failed)
      child.once("close", code => done({ code, ...texts }))
      child.stdin.on("error", () => undefined)
      child.stdin.end(options.input ?? "")
    })
  const programs: Programs = {
    cluster,
    folder,
    merlonctl: (args, options) => run(process.execPath, [MERLONCTL, ...args], options),
    kubectl: (args, options) => run(process.env.KUBECTL ?? "kubectl", args, options),
    follow: args => spawn(process.execPath, [MERLONCTL, ...args], { env }),
    async close() {
      await cluster.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
  const definitions = await Promise.all(CRDS.map(name => readFile(`deploy/crds/${name}.yaml`, "utf8")))
  await programs.kubectl(["apply", "-f", "-"], { input: definitions.join("\n---\n") })
  await programs.kubectl(["wait", "crd", "--all", "--for=condition=Established", "--timeout=120s"])
  for (const name of ["one", "two"]) await programs.kubectl(["create", "namespace", name])
  return programs
}
