// SPDX-License-Identifier: Apache-2.0
// Signed-in users. A session has two halves: a cookie that no script reads, and a key that only the page's own origin
// holds. Cookies ignore ports: another server on the same host receives the first half, and cannot use it alone.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import type { ApiExchange } from "./exchange.js"

export interface Session {
  readonly user: string
  readonly groups: readonly string[]
  readonly api: ApiExchange
  readonly ends: number
}

export interface SessionHalves {
  readonly cookie: string
  readonly page: string
}

interface Kept extends Session {
  readonly page: Buffer
  used: number
}

const LIFE_MS = 12 * 3_600_000
const IDLE_MS = 3_600_000
const MOST = 1_000
const ACCOUNT_NAME = /^(system:serviceaccount:[^:]+):[^:]+$/

export class Sessions {
  readonly #kept = new Map<string, Kept>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** `until`: when its credentials expire, if that is known. */
  open({
    until = Number.POSITIVE_INFINITY,
    ...who
  }: Omit<Session, "ends"> & { readonly until?: number }): SessionHalves & { readonly ends: number } {
    this.#sweep()
    if (this.#kept.size >= MOST) this.#makeRoom()
    const [cookie, page] = [randomBytes(32).toString("base64url"), randomBytes(32).toString("base64url")]
    const ends = Math.min(this.#now() + LIFE_MS, until)
    this.#kept.set(digest(cookie).toString("hex"), { ...who, ends, page: digest(page), used: this.#now() })
    return { cookie, page, ends }
  }

  find({ cookie, page }: SessionHalves): Session | undefined {
    const id = digest(cookie).toString("hex")
    const kept = this.#kept.get(id)
    if (kept === undefined || !timingSafeEqual(kept.page, digest(page))) return undefined
    if (this.#isOver(kept)) {
      this.#drop(id)
      return undefined
    }
    kept.used = this.#now()
    this.#kept.delete(id)
    this.#kept.set(id, kept)
    return kept
  }

  end({ cookie, page }: SessionHalves): void {
    if (this.find({ cookie, page }) !== undefined) this.#drop(digest(cookie).toString("hex"))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#kept.values()].map(({ api }) => api.close()))
    this.#kept.clear()
  }

  /**
   * Ends the least recently used session of the user with the most sessions, so that no user displaces others by
   * signing in often. All service accounts of a namespace count as one user, because a user who may create them could
   * otherwise act as any number of users.
   */
  #makeRoom(): void {
    const byOwner = new Map<string, string[]>()
    for (const [id, { user }] of this.#kept) {
      const owner = user.replace(ACCOUNT_NAME, "$1")
      const ids = byOwner.get(owner)
      if (ids === undefined) byOwner.set(owner, [id])
      else ids.push(id)
    }
    let most: readonly string[] = []
    for (const ids of byOwner.values()) if (ids.length > most.length) most = ids
    this.#drop(most[0])
  }

  #sweep(): void {
    for (const [id, kept] of this.#kept) if (this.#isOver(kept)) this.#drop(id)
  }

  #isOver({ ends, used }: Kept): boolean {
    const now = this.#now()
    return ends <= now || used + IDLE_MS <= now
  }

  #drop(id: string | undefined): void {
    if (id === undefined) return
    const kept = this.#kept.get(id)
    this.#kept.delete(id)
    // Its requests in progress end with it.
    kept?.api.close().catch(() => undefined)
  }
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest()
}
