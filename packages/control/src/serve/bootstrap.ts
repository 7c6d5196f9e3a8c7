// SPDX-License-Identifier: Apache-2.0
// Waits for the prerequisites of everything else: an API that answers, and the root namespace.

import type { MeshNames } from "@merlon/policy/mesh"
import type { Logger } from "pino"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { NAMESPACES } from "../kubernetes/resource-type.js"

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 10_000

/**
 * Retries while the API is unavailable. Other errors, such as a missing permission, are thrown: waiting does not fix
 * them.
 */
export async function retrying(logger: Logger, what: string, act: () => Promise<void>): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof ApiError) || !isPassing(error)) throw error
      logger.warn({ error: error.message }, `${what} cannot be prepared yet; retrying`)
      await new Promise(resolve => setTimeout(resolve, pause))
    }
  }
}

function isPassing({ code }: ApiError): boolean {
  return code === 0 || code === 409 || code === 429 || code >= 500
}

export async function ensureRootNamespace(client: KubernetesClient, { rootNamespace }: MeshNames): Promise<void> {
  if ((await client.get(NAMESPACES, rootNamespace)) !== undefined) return
  try {
    await client.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: rootNamespace } })
  } catch (error) {
    if (error instanceof ApiError && error.reason === "AlreadyExists") return
    if (error instanceof ApiError && error.code === 403) {
      throw new Error(
        `the namespace \`${rootNamespace}\` is missing, and the control plane may not create it; create it first`,
      )
    }
    throw error
  }
}
