// SPDX-License-Identifier: Apache-2.0
// Records Events for changes of the certificate authority: rotations, revocations, expiring credentials.

import type { Logger } from "pino"
import type { Authority } from "../authority/authority.js"
import { someOf } from "../observe/one-line.js"
import type { EventSink } from "../status/events.js"

export interface AuthorityEventsOptions {
  readonly authority: Authority
  readonly events: EventSink
  readonly isLeader: () => boolean
  readonly logger: Logger
}

const LOOK_MS = 3_600_000
const SOON_MS = 30 * 24 * 3_600_000

export class AuthorityEvents {
  readonly #options: AuthorityEventsOptions
  readonly #stop: () => void
  readonly #timer: NodeJS.Timeout
  #phase: string
  #revoked: string
  #unreadable = ""

  constructor(options: AuthorityEventsOptions) {
    const { authority } = options
    this.#options = options
    this.#phase = authority.facts.phase
    this.#revoked = this.#revocations()
    const stops = [
      authority.onChange(() => this.#changed()),
      authority.onRevocationsRead(() => this.#lookAtRevocations()),
    ]
    this.#stop = () => {
      for (const stop of stops) stop()
    }
    this.#lookAtRevocations()
    this.#timer = setInterval(() => this.#lookAtExpiry(), LOOK_MS).unref()
    this.#lookAtExpiry()
  }

  stop(): void {
    this.#stop()
    clearInterval(this.#timer)
  }

  #changed(): void {
    const { phase, revokedIdentities, revokedSerials, signer } = this.#options.authority.facts
    if (phase !== this.#phase) {
      this.#phase = phase
      this.#notify("RootRotationPhase", `root rotation is in phase ${phase}; ${signer.slice(0, 16)} signs`)
    }
    const revoked = this.#revocations()
    if (revoked === this.#revoked) return
    this.#revoked = revoked
    const message = `${revokedIdentities} identities and ${revokedSerials} certificates are revoked`
    this.#options.logger.warn(message)
    this.#reportRevocations("RevocationApplied", message)
  }

  /** Each replica has logged the error already; the leader also reports it as an Event on the list. */
  #lookAtRevocations(): void {
    const unreadable = this.#options.authority.revocationErrors.map(({ message }) => message)
    const text = JSON.stringify(unreadable)
    if (unreadable.length === 0 || text === this.#unreadable) {
      this.#unreadable = text
      return
    }
    if (this.#reportRevocations("RevocationUnreadable", someOf(unreadable))) this.#unreadable = text
  }

  /** Call it when this replica becomes the leader. */
  leadershipChanged(): void {
    this.#lookAtRevocations()
  }

  #reportRevocations(reason: "RevocationApplied" | "RevocationUnreadable", message: string): boolean {
    const { authority, events, isLeader } = this.#options
    if (!isLeader()) return false
    const { namespace, revocationsConfigMap: name } = authority.names
    events.record({ apiVersion: "v1", kind: "ConfigMap", namespace, name }, reason, message)
    return true
  }

  #revocations(): string {
    const { revokedIdentities, revokedSerials } = this.#options.authority.current
    return JSON.stringify([revokedIdentities, revokedSerials])
  }

  #lookAtExpiry(): void {
    const { rootNotAfter, signerNotAfter } = this.#options.authority.facts
    const ends = Math.min(rootNotAfter, signerNotAfter)
    if (ends - Date.now() > SOON_MS) return
    this.#notify("CertificateExpiring", `the CA of the mesh expires at ${new Date(ends).toISOString()}; rotate it`)
  }

  #notify(reason: "RootRotationPhase" | "CertificateExpiring", message: string): void {
    const { authority, events, isLeader, logger } = this.#options
    logger.warn(message)
    if (!isLeader()) return
    const { namespace, rootSecret: name } = authority.names
    events.record({ apiVersion: "v1", kind: "Secret", namespace, name }, reason, message)
  }
}
