// SPDX-License-Identifier: Apache-2.0
// A cluster with its administrator's credentials: documents in and out, and the real kubectl.

import { meshNames } from "@merlon/policy"
import { expect, vi } from "vitest"
import { kubectl, type Ran } from "../../../../packages/cluster/src/testing/kubectl.js"
import { ApiError } from "../../../../packages/control/src/kubernetes/client.js"
import { connectionFrom } from "../../../../packages/control/src/kubernetes/connection-from.js"
import { type HttpKubernetesClient, httpClient } from "../../../../packages/control/src/kubernetes/http-client.js"
import {
  CONFIG_MAPS,
  type KubernetesObject,
  NAMESPACES,
  PODS,
  policyTypes,
  type ResourceType,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
} from "../../../../packages/control/src/kubernetes/resource-type.js"

export const names = meshNames()
/** Longer intervals keep the polled process less busy: each poll is a request, often on a connection of its own. */
export const WAIT = { timeout: 90_000, interval: 200 }

const TYPES: { readonly [kind: string]: ResourceType } = {
  Namespace: NAMESPACES,
  Pod: PODS,
  Service: SERVICES,
  ServiceAccount: SERVICE_ACCOUNTS,
  ConfigMap: CONFIG_MAPS,
  Secret: SECRETS,
  ...policyTypes(names),
}

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export class ClusterApi {
  readonly client: HttpKubernetesClient
  /** Arguments separated by spaces, with single quotes around those that contain spaces. */
  readonly kubectl: (args: string, input?: string) => Promise<Ran>

  constructor(kubeconfig: string, folder: string) {
    const connection = connectionFrom({ kubeconfig, env: {} })
    this.client = httpClient(connection, { userAgent: "test", fieldManager: "test" })
    this.kubectl = kubectl(kubeconfig, folder)
  }

  /** Creates or replaces the document, retrying if other clients write its status meanwhile. */
  async put<T extends KubernetesObject>(document: T): Promise<KubernetesObject> {
    for (;;) {
      try {
        return await this.#putOnce(document)
      } catch (error) {
        if (!(error instanceof ApiError) || error.reason !== "Conflict") throw error
      }
    }
  }

  async #putOnce(document: KubernetesObject): Promise<KubernetesObject> {
    const type = typeOf(document.kind)
    const { name, namespace } = document.metadata
    const found = await this.client.get(type, name, namespace)
    if (found === undefined) return this.client.create(type, document)
    const { resourceVersion } = found.metadata
    const metadata = { ...document.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) }
    return this.client.replace<KubernetesObject>(type, { ...document, metadata })
  }

  /** Creates the document if it is missing; several callers may do so at the same time. */
  async ensure(document: KubernetesObject): Promise<void> {
    const type = typeOf(document.kind)
    const { name, namespace } = document.metadata
    if ((await this.client.get(type, name, namespace)) !== undefined) return
    await this.client.create(type, document).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error
    })
  }

  get(kind: string, name: string, namespace?: string): Promise<KubernetesObject | undefined> {
    return this.client.get(typeOf(kind), name, namespace)
  }

  delete(kind: string, name: string, namespace?: string): Promise<boolean> {
    return this.client.delete(typeOf(kind), name, namespace)
  }

  async condition(kind: string, name: string, namespace: string, type: string): Promise<Condition | undefined> {
    const object = await this.get(kind, name, namespace)
    // The type of the CRD's schema.
    const status = object?.status as { readonly conditions?: readonly Condition[] } | undefined
    return status?.conditions?.find(condition => condition.type === type)
  }

  /** Waits until the condition has this status, for the newest generation. */
  async becomes(kind: string, name: string, namespace: string, type: string, status: string): Promise<Condition> {
    return vi.waitFor(async () => {
      const object = await this.get(kind, name, namespace)
      const result = object?.status as { conditions?: Condition[]; observedGeneration?: number } | undefined
      const found = result?.conditions?.find(condition => condition.type === type)
      expect(result?.observedGeneration).toBe(object?.metadata.generation)
      expect(found).toMatchObject({ type, status })
      if (found === undefined) throw new Error("unreachable: it was found")
      return found
    }, WAIT)
  }

  async close(): Promise<void> {
    await this.client.close()
  }
}

function typeOf(kind: string): ResourceType {
  const type = TYPES[kind]
  if (type === undefined) throw new TypeError(`no such kind: ${kind}`)
  return type
}
