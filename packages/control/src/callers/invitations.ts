// SPDX-License-Identifier: Apache-2.0
// Invitations: tokens that let a machine join once. They have their own audience and are valid for one certificate.
// INVARIANT: over all replicas and calls, exactly one succeeds: redeeming an invitation creates an object of its name.

import { createHash } from "node:crypto"
import type { MeshNames } from "@merlon/policy/mesh"
import type { Caller, Rejection } from "@merlon/xds/server"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { CONFIG_MAPS, type KubernetesObject } from "../kubernetes/resource-type.js"

/** Longer than any invitation is valid. */
const REMEMBERED_MS = 48 * 3_600_000

export function invitationAudience({ tokenAudience }: MeshNames): string {
  return `${tokenAudience}-invitation`
}

/** What is stored of a token: enough to recognise it, but not to use it. */
export function invitationDigest(token: string): string {
  return createHash("sha256").update(token).digest("hex").slice(0, 40)
}

export class Invitations {
  readonly #client: KubernetesClient
  readonly #names: MeshNames
  readonly #now: () => number

  constructor(client: KubernetesClient, names: MeshNames, now: () => number = Date.now) {
    this.#client = client
    this.#names = names
    this.#now = now
  }

  /**
   * Redeems the invitation before a certificate is signed. Returns undefined if it was valid; it is not valid again.
   */
  async take({ invitation, namespace, pod }: Caller): Promise<Rejection | undefined> {
    if (invitation === undefined) return undefined
    // Fail closed: the author of the invitation must choose the workload that it invites.
    if (pod === undefined) return { code: "PERMISSION_DENIED", message: "the invitation does not name a workload" }
    const { mesh, domain, rootNamespace } = this.#names
    const object: KubernetesObject = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: `${mesh}-invitation-${invitation}`,
        namespace: rootNamespace,
        labels: { [`${domain}/invitation`]: "used" },
      },
      data: { workload: `${namespace}/${pod}` },
    }
    try {
      await this.#client.create(CONFIG_MAPS, object)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 409) throw error
      return {
        code: "PERMISSION_DENIED",
        message: "this invitation was already used; create another with `merlonctl invite`",
      }
    }
    // Runs in the background: a client that waits for a certificate does not wait for this.
    void this.#forgetOld().catch(() => undefined)
    return undefined
  }

  async #forgetOld(): Promise<void> {
    const { domain, rootNamespace: namespace } = this.#names
    const { items } = await this.#client.list(CONFIG_MAPS, { namespace, labelSelector: `${domain}/invitation=used` })
    for (const { metadata } of items) {
      const made = Date.parse(metadata.creationTimestamp ?? "")
      if (this.#now() - made > REMEMBERED_MS) await this.#client.delete(CONFIG_MAPS, metadata.name, namespace)
    }
  }
}
