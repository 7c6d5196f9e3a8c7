// SPDX-License-Identifier: Apache-2.0
// Replaces the one part of the controller manager that tests need: every namespace gets a service account `default`,
// without which no Pod is admitted.

import { ApiError } from "../../packages/control/src/kubernetes/client.js"
import { connectionFrom } from "../../packages/control/src/kubernetes/connection-from.js"
import { httpClient } from "../../packages/control/src/kubernetes/http-client.js"
import { Reflector } from "../../packages/control/src/kubernetes/reflector-loop.js"
import {
  type KubernetesObject,
  NAMESPACES,
  SERVICE_ACCOUNTS,
} from "../../packages/control/src/kubernetes/resource-type.js"

/** Until it is told to end. */
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
