// SPDX-License-Identifier: Apache-2.0
// A caller as a member of the mesh: it proves its identity, gets a certificate, and follows the routes of its calls. If
// the control plane goes down, the last known state stays in use.

import { readFileSync, statSync } from "node:fs"
import type { TrustSpec } from "@merlon/xds"
import { Enrolment, MeshClient, type Proof } from "@merlon/xds/client"
import type { Bootstrap } from "@merlon/xds/member"
import type { Log } from "@merlon/xds/runtime"
import type { Outbound } from "../call/outbound.js"
import type { RequestCalls } from "../http/request-calls.js"
import type { KnownRoutes } from "../routes/known-routes.js"
import { keepCredentials, savedCredentials } from "./saved-credentials.js"
import { WorkloadCalls } from "./workload-calls.js"

export interface MeshMemberOptions {
  readonly bootstrap: Bootstrap
  readonly log: Log
  /** Limit for TCP and TLS together, per endpoint. */
  readonly connectTimeoutMs?: number
}

export class MeshMember {
  readonly #options: MeshMemberOptions
  readonly #client: MeshClient
  readonly #enrolment: Enrolment
  readonly #calls: WorkloadCalls
  #trustSince = 0
  #trouble = "the control plane has not responded yet"

  constructor(options: MeshMemberOptions) {
    const { bootstrap, connectTimeoutMs } = options
    const log = this.#listening(options.log)
    this.#options = options
    this.#calls = new WorkloadCalls({
      mesh: bootstrap.names.mesh,
      log,
      ...(connectTimeoutMs !== undefined && { connectTimeoutMs }),
      credentials: () => this.#enrolment.credentials,
      resubscribe: () => this.#client.resubscribe(this.knownRoutes.subscription.typeUrl),
      trustChanged: trust => this.#trustChanged(trust),
    })
    this.#client = new MeshClient({
      ...bootstrap.controlPlane,
      trustBundle: () => this.#controlPlaneRoots(),
      proof: () => this.#proof(),
      node: {
        // Not the Pod's own id, which its xserver has: our certificate says nothing about the credentials of xserver.
        id: `${bootstrap.workload.namespace}/${bootstrap.workload.name}#xclient`,
        metadata: () => ({ kind: "xclient", signer: this.#signer() }),
      },
      subscriptions: [this.knownRoutes.subscription],
      log,
    })
    this.#enrolment = new Enrolment(
      {
        sign: request => this.#client.signCertificate(request),
        use: async credentials => keepCredentials(bootstrap.state, credentials),
        logger: log,
      },
      savedCredentials(bootstrap.state),
    )
  }

  get knownRoutes(): KnownRoutes {
    return this.#calls.knownRoutes
  }

  get outbound(): Outbound {
    return this.#calls.outbound
  }

  get requests(): RequestCalls {
    return this.#calls.requests
  }

  /** Resolves when there is a certificate, however long that takes. Routes are followed from then on. */
  async start(): Promise<void> {
    await this.#enrolment.start()
    this.#client.start()
  }

  /** The last error in reaching the control plane, for callers whose wait timed out. */
  get problem(): string | undefined {
    return this.#client.connected ? undefined : this.#trouble
  }

  close(): void {
    this.#enrolment.close()
    this.#client.close()
    this.#calls.close()
  }

  #trustChanged(trust: TrustSpec): void {
    this.#trustSince = Date.now()
    // Another root signs now: a certificate of the old root becomes worthless when that root retires.
    if (this.#enrolment.credentials !== undefined && this.#signer() !== trust.signer) void this.#enrolment.renew()
  }

  #signer(): string | undefined {
    const { trust } = this.#calls
    return trust && this.#enrolment.signer(trust.bundle)
  }

  /** The trust bundle that the control plane sent last; a file that was written after that is newer. */
  #controlPlaneRoots(): string {
    const { trustBundle } = this.#options.bootstrap
    const { trust } = this.#calls
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

// A missing token is no reason to stop: the certificate may still be valid.
function tokenIn(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim()
  } catch {
    return undefined
  }
}
