// SPDX-License-Identifier: Apache-2.0
// A caller as a member of the mesh: it proves who it is, holds a certificate, follows the routes it asks for and calls by
// them. The control plane may go away at any time; what is known then stays in use.

import { readFileSync, statSync } from "node:fs"
import { type Bootstrap, Enrolment, type Log, MeshClient, type Proof, type TrustSpec } from "@merlon/xds"
import { EndpointHealth } from "../balance/endpoint-health.js"
import { Outbound } from "../call/outbound.js"
import { ConnectionPool } from "../connect/connection-pool.js"
import { RouteBook } from "../routes/route-book.js"
import { CurrentMaterial } from "./current-material.js"
import { keepCredentials, keptCredentials } from "./kept-credentials.js"

export interface MeshMemberOptions {
  readonly bootstrap: Bootstrap
  readonly log: Log
  /** For TCP and TLS together, per endpoint. */
  readonly connectTimeoutMs?: number
}

export const CONNECT_TIMEOUT_MS = 5_000

export class MeshMember {
  readonly book: RouteBook
  readonly outbound: Outbound
  readonly #options: MeshMemberOptions
  readonly #client: MeshClient
  readonly #enrolment: Enrolment
  readonly #pool: ConnectionPool
  readonly #material = new CurrentMaterial()
  #trustSince = 0
  #trouble = "the control plane has not answered yet"

  constructor(options: MeshMemberOptions) {
    const { bootstrap, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options
    const { mesh } = bootstrap.names
    const health = new EndpointHealth()
    const log = this.#listening(options.log)
    this.#options = options
    this.#pool = new ConnectionPool({ alpn: [`${mesh}-http/1.1`], connectTimeoutMs })
    this.book = new RouteBook({
      health,
      resubscribe: () => this.#client.resubscribe(this.book.subscription.typeUrl),
      onTrust: trust => this.#trust(trust),
    })
    this.#client = new MeshClient({
      ...bootstrap.controlPlane,
      trustBundle: () => this.#controlPlaneRoots(),
      proof: () => this.#proof(),
      node: {
        // Not the Pod's own, which is its xserver's: what we renew says nothing about the credentials of that one.
        id: `${bootstrap.workload.namespace}/${bootstrap.workload.name}#xclient`,
        metadata: () => ({ kind: "xclient", signer: this.#signer() }),
      },
      subscriptions: [this.book.subscription],
      log,
    })
    this.#enrolment = new Enrolment(
      {
        sign: request => this.#client.signCertificate(request),
        use: async credentials => keepCredentials(bootstrap.state, credentials),
        logger: log,
      },
      keptCredentials(bootstrap.state),
    )
    this.outbound = new Outbound({
      pool: this.#pool,
      health,
      material: () => this.#material.with(this.#enrolment.credentials),
      tunnelAlpn: [mesh],
      connectTimeoutMs,
    })
  }

  /** Resolves when there is a certificate, however long that takes; routes are followed from then on. */
  async start(): Promise<void> {
    await this.#enrolment.start()
    this.#client.start()
  }

  /** What last stood between us and the control plane, for whoever waits in vain. */
  get trouble(): string | undefined {
    return this.#client.connected ? undefined : this.#trouble
  }

  close(): void {
    this.#enrolment.close()
    this.#client.close()
    this.#pool.close()
  }

  #trust(trust: TrustSpec): void {
    if (!this.#material.setTrust(trust)) return
    this.#trustSince = Date.now()
    this.outbound.trustChanged(trust)
    // Another root signs now: a certificate of the old one will be worth nothing once that retires.
    if (this.#enrolment.credentials !== undefined && this.#signer() !== trust.signer) void this.#enrolment.renew()
  }

  #signer(): string | undefined {
    const { trust } = this.#material
    return trust && this.#enrolment.signer(trust.bundle)
  }

  /** What the control plane last told us to trust; a file that came after that is newer trust. */
  #controlPlaneRoots(): string {
    const { trustBundle } = this.#options.bootstrap
    const { trust } = this.#material
    const written = statSync(trustBundle, { throwIfNoEntry: false })?.mtimeMs ?? 0
    const file = trust === undefined || written > this.#trustSince ? readFileSync(trustBundle, "utf8") : ""
    return `${trust?.bundle ?? ""}\n${file}`
  }

  #proof(): Proof {
    const { credentials } = this.#enrolment
    const token = tokenIn(this.#options.bootstrap.token)
    return {
      ...(token !== undefined && { token }),
      ...(credentials && { certificate: { chain: credentials.certificateChain, privateKey: credentials.privateKey } }),
    }
  }

  #listening(log: Log): Log {
    const remember = (fields: object, message: string) => {
      const why = "why" in fields ? fields.why : "error" in fields ? fields.error : undefined
      this.#trouble = typeof why === "string" ? `${message}: ${why}` : message
    }
    return {
      info: (fields, message) => log.info(fields, message),
      warn: (fields, message) => {
        remember(fields, message)
        log.warn(fields, message)
      },
      error: (fields, message) => {
        remember(fields, message)
        log.error(fields, message)
      },
    }
  }
}

// A token that is not there yet, or no longer, is no reason to stop: the certificate may still do.
function tokenIn(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim()
  } catch {
    return undefined
  }
}
