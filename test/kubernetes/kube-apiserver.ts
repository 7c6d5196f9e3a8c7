// SPDX-License-Identifier: Apache-2.0
// A real kube-apiserver with its etcd, from envtest's KUBEBUILDER_ASSETS folder, with the flags that envtest uses. It
// generates its own certificate, which the kubeconfig trusts.

import { type ChildProcess, spawn } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EtcdProcess } from "../../packages/cluster/src/store/testing/etcd-process.js"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { keepDefaultAccounts } from "./default-accounts.js"

const TOKEN = "administrator"

export interface Kubernetes {
  readonly url: string
  readonly token: string
  readonly kubeconfigPath: string
  readonly pid: number
  readonly etcdPid: number
  /** Kills it and starts it again on the same port. `between` runs while it is down. */
  restart(between?: () => Promise<void>): Promise<void>
  /** Removes the history before the current revision. */
  compact(): Promise<void>
  stop(): Promise<void>
}

export interface KubernetesOptions {
  /**
   * Requires service accounts for Pods, as real clusters do. envtest disables this because it has no controller
   * manager.
   */
  readonly accounts?: boolean
}

export async function startKubernetes(
  assets: string,
  { accounts = false }: KubernetesOptions = {},
): Promise<Kubernetes> {
  const folder = mkdtempSync(join(tmpdir(), "merlon-kubernetes-"))
  const put = (name: string, text: string): string => {
    const file = join(folder, name)
    writeFileSync(file, text, { mode: 0o600 })
    return file
  }
  const etcd = await EtcdProcess.start({ binary: join(assets, "etcd"), patient: true })
  const port = await freePort()
  const url = `https://127.0.0.1:${port}`
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const keys = put("sa.key", privateKey.export({ type: "pkcs1", format: "pem" }).toString())
  const flags = [
    `--etcd-servers=${etcd.endpoint}`,
    `--secure-port=${port}`,
    "--bind-address=127.0.0.1",
    `--cert-dir=${folder}`,
    "--service-cluster-ip-range=10.0.0.0/24",
    "--authorization-mode=RBAC",
    ...(accounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
    "--service-account-issuer=https://localhost/",
    `--service-account-key-file=${keys}`,
    `--service-account-signing-key-file=${keys}`,
    `--token-auth-file=${put("tokens.csv", `${TOKEN},admin,admin,system:masters\n`)}`,
  ]
  const launch = async (): Promise<ChildProcess> => {
    const child = spawn(join(assets, "kube-apiserver"), flags, { stdio: "ignore" })
    await ready(child, url)
    return child
  }
  let child = await launch()
  const kubeconfigPath = put("kubeconfig", JSON.stringify(kubeconfig(url, readFileSync(join(folder, "apiserver.crt")))))
  const leaveAccounts = accounts ? keepDefaultAccounts(kubeconfigPath) : undefined
  return {
    url,
    token: TOKEN,
    kubeconfigPath,
    get pid() {
      return child.pid ?? 0
    },
    etcdPid: etcd.pid ?? 0,
    async restart(between) {
      await kill(child)
      await between?.()
      child = await launch()
    },
    compact: () => compact(etcd.endpoint),
    async stop() {
      await leaveAccounts?.()
      await kill(child)
      await etcd.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const kubeconfig = (server: string, chain: Buffer): object => ({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "c", cluster: { server, "certificate-authority-data": chain.toString("base64") } }],
  users: [{ name: "u", user: { token: TOKEN } }],
  contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  "current-context": "c",
})

async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise(resolve => child.once("exit", resolve))
  child.kill("SIGKILL")
  await gone
}

async function compact(etcd: string): Promise<void> {
  const ask = async (path: string, body: object): Promise<{ readonly header?: { readonly revision?: string } }> => {
    const response = await fetch(`${etcd}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`etcd answered ${response.status}: ${await response.text()}`)
    return response.json() as Promise<{ header?: { revision?: string } }> // the gateway's response type
  }
  const { header } = await ask("range", { key: Buffer.from("/").toString("base64"), keys_only: true, limit: "1" })
  await ask("compaction", { revision: header?.revision, physical: true })
}

async function ready(child: ChildProcess, url: string): Promise<void> {
  while (!(await answers(`${url}/readyz`))) {
    if (child.exitCode !== null) throw new Error(`kube-apiserver ended with ${child.exitCode}`)
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}

function answers(url: string): Promise<boolean> {
  return new Promise(resolve => {
    const asked = request(
      url,
      { rejectUnauthorized: false, headers: { authorization: `Bearer ${TOKEN}` } },
      response => {
        response.resume()
        resolve(response.statusCode === 200)
      },
    )
    asked.on("error", () => resolve(false))
    asked.end()
  })
}
