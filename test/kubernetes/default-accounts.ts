// SPDX-License-Identifier: Apache-2.0
// Replaces the only part of the controller manager that tests need: it creates the service account `default` in every
// namespace, without which no Pod is admitted.

import { ApiError } from "../../packages/control/src/kubernetes/client.js"
import { connectionFrom } from "../../packages/control/src/kubernetes/connection-from.js"
import { httpClient } from "../../packages/control/src/kubernetes/http-client.js"
import { Reflector } from "../../packages/control/src/kubernetes/reflector-loop.js"
import {
  type KubernetesObject,
  NAMESPACES,
  SERVICE_ACCOUNTS,
} from "../../packages/control/src/kubernetes/resource-type.js"

/** Runs until the returned function is called. */
export function keepDefaultAccounts(kubeconfig: string): () => Promise<void> {
  const client = httpClient(connectionFrom({ kubeconfig, env: {} }), { userAgent: "test", fieldManager: "test" })
  const namespaces = new Reflector<KubernetesObject>({ client, type: NAMESPACES })
  namespaces.onChange(({ key, object }) => {
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return
    const metadata = { name: "default", namespace: key }
    client.create(SERVICE_ACCOUNTS, { apiVersion: "v1", kind: "ServiceAccount", metadata }).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") console.error(`${key}: ${String(error)}`)
    })
  })
  namespaces.start()
  return async () => {
    await namespaces.stop()
    await client.close()
  }
}
