// SPDX-License-Identifier: Apache-2.0
// The connection of a Pod to its own cluster, from the files and variables that Kubernetes provides to every Pod.

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Connection } from "./connection.js"
import { FileCredentials } from "./file-credentials.js"
import type { Time } from "./time.js"

const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"

/** Undefined if we do not run in a Pod. */
export function inClusterConnection(
  env: NodeJS.ProcessEnv,
  time: Time,
  folder: string = SERVICE_ACCOUNT_FOLDER,
): Connection | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  const token = join(folder, "token")
  if (!host || !port || !existsSync(token)) return undefined
  const files = new FileCredentials({ token, ca: join(folder, "ca.crt") }, time)
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    insecure: false,
    ...namespaceIn(folder),
    origin: `the service account in \`${folder}\``,
    credentials: () => files.credentials(),
    rejected: () => files.rejected(),
  }
}

function namespaceIn(folder: string): { readonly namespace?: string } {
  try {
    return { namespace: readFileSync(join(folder, "namespace"), "utf8").trim() }
  } catch {
    return {}
  }
}
