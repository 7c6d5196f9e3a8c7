// SPDX-License-Identifier: Apache-2.0
// The keys that seal session tickets, made of a secret that processes share, of what sessions are granted under, and of the
// time: new ones every hour or day, so that a key that leaks opens little, and other ones from the moment our own certificate
// has ended, because who resumes a session sees no certificate. All processes change them at the same moment, by the clock.

import { createHash, hkdfSync } from "node:crypto"

const KEY_BYTES = 48
const HOUR_MS = 3_600_000

export class TicketKeys {
  readonly #secret: Buffer
  readonly #salt: Buffer
  readonly #endsAtMs: number
  readonly #periodMs: number
  #period = ""
  #keys: Buffer = Buffer.alloc(0)

  /** `granted`: whatever changes it makes all sessions from before it worthless. `endsAtMs`: the certificate's end. */
  constructor(secret: Buffer, granted: string, endsAtMs: number, periodMs = HOUR_MS) {
    this.#secret = secret
    this.#salt = createHash("sha256").update(granted).digest()
    this.#endsAtMs = endsAtMs
    this.#periodMs = periodMs
  }

  /** The same buffer for as long as the keys are the same. */
  at(nowMs: number): Buffer {
    const period = nowMs >= this.#endsAtMs ? "ended" : String(Math.floor(nowMs / this.#periodMs))
    if (period === this.#period) return this.#keys
    this.#period = period
    this.#keys = Buffer.from(hkdfSync("sha256", this.#secret, this.#salt, `session tickets ${period}`, KEY_BYTES))
    return this.#keys
  }
}
