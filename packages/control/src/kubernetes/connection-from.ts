// SPDX-License-Identifier: Apache-2.0
// Chooses the connection to the API: the named kubeconfig, then the Pod's own cluster, then the user's default file.

import { homedir } from "node:os"
import { delimiter, join } from "node:path"
import { type Connection, ConnectionError } from "./connection.js"
import { inClusterConnection } from "./in-cluster.js"
import { kubeconfigConnection } from "./kubeconfig.js"
import { SYSTEM_TIME, type Time } from "./time.js"

export interface ConnectionChoice {
  readonly kubeconfig?: string
  readonly context?: string
  readonly env: NodeJS.ProcessEnv
  readonly warn?: (message: string) => void
  readonly time?: Time
  readonly serviceAccountFolder?: string
}

export function connectionFrom(choice: ConnectionChoice): Connection {
  const { kubeconfig, context, env, time = SYSTEM_TIME, warn = () => {} } = choice
  const options = { time, warn, ...(context === undefined ? {} : { context }) }
  if (kubeconfig !== undefined) {
    const named = kubeconfigConnection([kubeconfig], options)
    if (named === undefined)
      throw new ConnectionError("kubeconfig-unreadable", `the kubeconfig \`${kubeconfig}\` does not exist`)
    return named
  }
  const listed = (env.KUBECONFIG ?? "").split(delimiter).filter(file => file !== "")
  if (listed.length > 0) {
    const found = kubeconfigConnection(listed, options)
    if (found === undefined)
      throw new ConnectionError("kubeconfig-unreadable", `no file of KUBECONFIG=\`${env.KUBECONFIG}\` exists`)
    return found
  }
  // A context refers to a kubeconfig file, so the Pod's own cluster is not meant.
  const own = context === undefined ? inClusterConnection(env, time, choice.serviceAccountFolder) : undefined
  const found = own ?? kubeconfigConnection([join(env.HOME ?? homedir(), ".kube", "config")], options)
  if (found !== undefined) return found
  throw new ConnectionError(
    "no-api",
    "no cluster found: there is no local mesh here, no KUBECONFIG and no ~/.kube/config; start a local mesh with `merlonctl up`, or pass `--kubeconfig FILE`",
  )
}
