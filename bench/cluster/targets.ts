// SPDX-License-Identifier: Apache-2.0
//
// The servers that are measured, each started alone: ours on the embedded store, ours on etcd, and kube-apiserver where
// KUBEBUILDER_ASSETS names a folder with it and its etcd.

import { type ChildProcess, spawn } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { Agent, type AgentOptions } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EtcdProcess, etcdAvailable } from "../../packages/cluster/src/store/testing/etcd-process.js"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { bundle } from "../../test/resilience/support/bundle.js"
import { ClusterProcess, clusterServer, papers } from "../../test/resilience/support/cluster-process.js"
import { Load } from "./load.js"

export interface Target {
  name: string
  load: Load
  server: number
  /** The server and what it needs to store: CPU is counted for all of them. */
  pids: readonly number[]
  /** Before memory is read, as far as the server lets itself be asked. */
  settle(): Promise<void>
  stop(): Promise<void>
}

const CONNECTIONS = 32
const TOKEN = "bench"

export async function* targets(): AsyncGenerator<Target> {
  const program = await bundle(clusterServer)
  yield await ours("embedded", program, undefined)
  if (etcdAvailable()) yield await ours("etcd", program, await EtcdProcess.start({ patient: true }))
  const assets = process.env.KUBEBUILDER_ASSETS
  if (assets !== undefined && assets !== "") yield await kubernetes(assets)
}

async function ours(name: string, program: string, etcd: EtcdProcess | undefined): Promise<Target> {
  const dataDir = mkdtempSync(join(tmpdir(), "merlon-bench-"))
  const server = new ClusterProcess(program)
  await server.serve({ dataDir, ...(etcd === undefined ? {} : { etcd: etcd.endpoint }) })
  return {
    name,
    load: new Load(server.url, agent(papers(join(dataDir, "kubeconfig"))), {}),
    server: server.pid,
    settle: () => server.collectGarbage(),
    pids: [server.pid, ...(etcd?.pid === undefined ? [] : [etcd.pid])],
    stop: async () => {
      await server.kill()
      await etcd?.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** The flags envtest gives it. */
async function kubernetes(assets: string): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), "merlon-bench-"))
  const etcd = await EtcdProcess.start({ binary: join(assets, "etcd"), patient: true })
  const port = await freePort()
  const keys = join(folder, "sa.key")
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  writeFileSync(keys, privateKey.export({ type: "pkcs1", format: "pem" }), { mode: 0o600 })
  writeFileSync(join(folder, "tokens.csv"), `${TOKEN},admin,admin,system:masters\n`, { mode: 0o600 })
  const child: ChildProcess = spawn(
    join(assets, "kube-apiserver"),
    [
      ...[
        `--etcd-servers=${etcd.endpoint}`,
        `--secure-port=${port}`,
        "--bind-address=127.0.0.1",
        `--cert-dir=${folder}`,
      ],
      ...[
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",
      ],
      ...["--service-account-issuer=https://localhost/", `--service-account-key-file=${keys}`],
      ...[`--service-account-signing-key-file=${keys}`, `--token-auth-file=${join(folder, "tokens.csv")}`],
    ],
    { stdio: "ignore" },
  )
  // The server signs its own certificate here, and nobody but this process is asked to believe it.
  const options = agent({ rejectUnauthorized: false })
  const load = new Load(`https://127.0.0.1:${port}`, options, { authorization: `Bearer ${TOKEN}` })
  while (!(await load.ready())) {
    if (child.exitCode !== null) throw new Error(`kube-apiserver ended with ${child.exitCode}`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  const pid = child.pid ?? 0
  return {
    name: "kube-apiserver",
    load,
    server: pid,
    settle: async () => undefined,
    pids: [pid, etcd.pid ?? 0],
    stop: async () => {
      const gone = new Promise(resolve => child.once("exit", resolve))
      child.kill("SIGKILL")
      await gone
      await etcd.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function agent(options: AgentOptions): { short: Agent; long: Agent } {
  const base = { keepAlive: true, ...options }
  return { short: new Agent({ ...base, maxSockets: CONNECTIONS }), long: new Agent(base) }
}
