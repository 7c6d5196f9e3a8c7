// SPDX-License-Identifier: Apache-2.0
// The keys that encrypt TLS session tickets, derived from a shared secret, the session's terms and the time. They
// change every hour or day, so that a leaked key exposes little, and when our own certificate expires, because a
// resumed session presents no certificate. All processes change them at the same time.

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

  /**
   * `granted`: the terms of sessions; a change to them invalidates all earlier sessions. `endsAtMs`: the certificate's
   * expiry.
   */
  constructor(secret: Buffer, granted: string, endsAtMs: number, periodMs = HOUR_MS) {
    this.#secret = secret
    this.#salt = createHash("sha256").update(granted).digest()
    this.#endsAtMs = endsAtMs
    this.#periodMs = periodMs
  }

  /** The same buffer as long as the keys are the same. */
  at(nowMs: number): Buffer {
    const period = nowMs >= this.#endsAtMs ? "ended" : String(Math.floor(nowMs / this.#periodMs))
    if (period === this.#period) return this.#keys
    this.#period = period
    this.#keys = Buffer.from(hkdfSync("sha256", this.#secret, this.#salt, `session tickets ${period}`, KEY_BYTES))
    return this.#keys
  }
}
