// SPDX-License-Identifier: Apache-2.0
// Runs the control plane as its own service account if no token is mounted: an administrator's client creates the
// account and its permissions, and requests tokens that are renewed well before they expire.

import type { MeshNames } from "@merlon/policy/mesh"
import type { KubernetesClient } from "../kubernetes/client.js"
import type { Connection, Credentials } from "../kubernetes/connection.js"
import { SERVICE_ACCOUNTS } from "../kubernetes/resource-type.js"
import { SYSTEM_TIME, type Time } from "../kubernetes/time.js"
import { apply } from "./apply.js"
import { componentNames } from "./component-names.js"
import { accessManifests } from "./manifests.js"

const LIFETIME_SECONDS = 3600
/** Renewed after this share of the lifetime, so that an API that is unreachable for a while does no harm. */
const RENEW_AT = 0.5

export interface BootstrapOptions {
  readonly admin: KubernetesClient
  /** The administrator's connection; its server and authority are used, its credentials are not. */
  readonly connection: Connection
  readonly names: MeshNames
  readonly time?: Time
}

/** Creates the account if it does not exist yet, and returns a connection with its credentials. */
export async function bootstrapServiceAccount(options: BootstrapOptions): Promise<Connection> {
  const { admin, connection, names, time = SYSTEM_TIME } = options
  for (const manifest of accessManifests(names)) await apply(admin, manifest)
  const { controlPlane } = componentNames(names)
  const token = new AccountToken(admin, names.rootNamespace, controlPlane, time)
  return {
    ...connection,
    origin: `service account \`${names.rootNamespace}/${controlPlane}\``,
    credentials: async (): Promise<Credentials> => {
      const { ca } = await connection.credentials()
      return { ...(ca === undefined ? {} : { ca }), token: await token.current() }
    },
    rejected: () => token.forget(),
  }
}

interface TokenRequest {
  readonly status?: { readonly token?: unknown; readonly expirationTimestamp?: unknown }
}

class AccountToken {
  #known: { readonly token: string; readonly renewAt: number; readonly endsAt: number } | undefined
  #pending: Promise<string> | undefined

  constructor(
    readonly admin: KubernetesClient,
    readonly namespace: string,
    readonly name: string,
    readonly time: Time,
  ) {}

  async current(): Promise<string> {
    const known = this.#known
    const now = this.time.now()
    if (known !== undefined && now < known.renewAt) return known.token
    this.#pending ??= this.#ask().finally(() => {
      this.#pending = undefined
    })
    try {
      return await this.#pending
    } catch (error) {
      // The current token is still valid; the next request tries again.
      if (known !== undefined && now < known.endsAt) return known.token
      throw error
    }
  }

  forget(): void {
    this.#known = undefined
  }

  async #ask(): Promise<string> {
    const body = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: LIFETIME_SECONDS },
    }
    const { status } = await this.admin.createSubresource<TokenRequest>(
      SERVICE_ACCOUNTS,
      this.name,
      "token",
      body,
      this.namespace,
    )
    const endsAt = Date.parse(String(status?.expirationTimestamp))
    if (typeof status?.token !== "string" || Number.isNaN(endsAt)) {
      throw new Error(`the API gave no token for the service account \`${this.namespace}/${this.name}\``)
    }
    const now = this.time.now()
    this.#known = { token: status.token, renewAt: now + (endsAt - now) * RENEW_AT, endsAt }
    return status.token
  }
}
