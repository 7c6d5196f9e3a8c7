// SPDX-License-Identifier: Apache-2.0
// The cluster of a test: our own, or the one of `CLUSTER_KUBECONFIG`, such as a real kube-apiserver. There the control
// plane gets an account with exactly the documented permissions.

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { startCluster } from "@merlon/cluster"
import { meshNames } from "@merlon/policy"
import { bootstrapServiceAccount } from "../../../../packages/control/src/install/service-account.js"
import { connectionFrom } from "../../../../packages/control/src/kubernetes/connection-from.js"
import { httpClient } from "../../../../packages/control/src/kubernetes/http-client.js"

/** The administrator's kubeconfig. */
export const GIVEN_CLUSTER = process.env.CLUSTER_KUBECONFIG

export interface TestCluster {
  /** The administrator's kubeconfig. */
  readonly kubeconfigPath: string
  close(): Promise<void>
}

/** Only one test file at a time can use an external cluster. */
export async function testCluster(folder: string): Promise<TestCluster> {
  if (GIVEN_CLUSTER !== undefined) return { kubeconfigPath: GIVEN_CLUSTER, close: () => Promise.resolve() }
  return startCluster({ dataDir: join(folder, "cluster"), port: 0 })
}

/** The kubeconfig of the control plane's own account. Its token is valid for an hour. */
export async function accountKubeconfig(administrator: string, folder: string): Promise<string> {
  const connection = connectionFrom({ kubeconfig: administrator, env: {} })
  const admin = httpClient(connection, { userAgent: "test", fieldManager: "administrator" })
  try {
    const account = await bootstrapServiceAccount({ admin, connection, names: meshNames() })
    const { token, ca } = await account.credentials()
    const file = join(folder, "account-kubeconfig")
    writeFileSync(file, JSON.stringify(kubeconfig(account.server, token ?? "", ca ?? "")), { mode: 0o600 })
    return file
  } finally {
    await admin.close()
  }
}

function kubeconfig(server: string, token: string, ca: string): object {
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") } }],
    users: [{ name: "u", user: { token } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    "current-context": "c",
  }
}
