// SPDX-License-Identifier: Apache-2.0
// Single-use, short-lived codes to sign in. A process that may read the key creates one, and the console accepts it
// once. It is in a link's fragment, which no server and no log sees. A link that is found later is worthless.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"

const LIFE_MS = 2 * 60_000

export class OneTimeCodes {
  readonly #key: Buffer
  readonly #now: () => number
  /** Used codes, until they would have expired anyway. */
  readonly #taken = new Map<string, number>()

  constructor(key: Buffer, now: () => number = Date.now) {
    this.#key = key
    this.#now = now
  }

  make(): string {
    const claim = `${this.#now() + LIFE_MS}.${randomBytes(12).toString("base64url")}`
    return `${claim}.${this.#seal(claim)}`
  }

  take(code: string): boolean {
    const [, claim = "", ends = "", seal = ""] = /^((\d{1,16})\.[\w-]{16})\.([\w-]{43})$/.exec(code) ?? []
    const [given, made] = [Buffer.from(seal), Buffer.from(this.#seal(claim))]
    if (given.length !== made.length || !timingSafeEqual(given, made)) return false
    const now = this.#now()
    for (const [old, end] of this.#taken) if (end <= now) this.#taken.delete(old)
    if (Number(ends) <= now || this.#taken.has(claim)) return false
    this.#taken.set(claim, Number(ends))
    return true
  }

  #seal(claim: string): string {
    return createHmac("sha256", this.#key).update(claim).digest("base64url")
  }
}
