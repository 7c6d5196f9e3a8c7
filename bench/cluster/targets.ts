// SPDX-License-Identifier: Apache-2.0
//
// The servers that are measured, each started alone: ours on the embedded store, ours on etcd, and kube-apiserver if
// KUBEBUILDER_ASSETS names a folder with it and its etcd.

import { mkdtempSync, rmSync } from "node:fs"
import { Agent, type AgentOptions } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EtcdProcess } from "../../packages/cluster/src/store/testing/etcd-process.js"
import { startKubernetes } from "../../test/kubernetes/kube-apiserver.js"
import { bundle } from "../../test/resilience/support/bundle.js"
import { ClusterProcess, clusterServer, credentials } from "../../test/resilience/support/cluster-process.js"
import { findProgram } from "../../test/runner/programs.js"
import { Load } from "./load.js"

export interface Target {
  name: string
  load: Load
  server: number
  /** The server and its store: CPU is counted for all of them. */
  pids: readonly number[]
  /** Prepares the server for reading its memory, as far as it supports that. */
  settle(): Promise<void>
  stop(): Promise<void>
}

const CONNECTIONS = 32

export async function* targets(): AsyncGenerator<Target> {
  const program = await bundle(clusterServer)
  yield await ours("embedded", program, undefined)
  if (findProgram("etcd") !== undefined) yield await ours("etcd", program, await EtcdProcess.start({ patient: true }))
  const assets = process.env.KUBEBUILDER_ASSETS
  if (assets !== undefined && assets !== "") yield await kubernetes(assets)
}

async function ours(name: string, program: string, etcd: EtcdProcess | undefined): Promise<Target> {
  const dataDir = mkdtempSync(join(tmpdir(), "merlon-bench-"))
  const server = new ClusterProcess(program)
  await server.serve({ dataDir, ...(etcd === undefined ? {} : { etcd: etcd.endpoint }) })
  return {
    name,
    load: new Load(server.url, agent(credentials(join(dataDir, "kubeconfig"))), {}),
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

async function kubernetes(assets: string): Promise<Target> {
  const server = await startKubernetes(assets)
  const { url, token, pid, etcdPid } = server
  return {
    name: "kube-apiserver",
    load: new Load(url, agent({ rejectUnauthorized: false }), { authorization: `Bearer ${token}` }),
    server: pid,
    settle: async () => undefined,
    pids: [pid, etcdPid],
    stop: () => server.stop(),
  }
}

function agent(options: AgentOptions): { short: Agent; long: Agent } {
  const base = { keepAlive: true, ...options }
  return { short: new Agent({ ...base, maxSockets: CONNECTIONS }), long: new Agent(base) }
}
