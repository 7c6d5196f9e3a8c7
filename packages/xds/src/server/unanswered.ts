// SPDX-License-Identifier: Apache-2.0
// Responses of one type that the client has neither acknowledged nor rejected. Usually there is one; there are more
// only if a client missed a deadline. Each response repeats what its unanswered predecessors contained, so the newest
// decides everything and old ones can be dropped.

export interface Sent {
  readonly nonce: string
  readonly revision: number
  /** When it was sent, in milliseconds. */
  readonly at: number
  /** What the response contains for each name: a version, or undefined for a name that does not exist. */
  readonly changes: Map<string, string | undefined>
}

const KEPT = 4
const NOTHING: ReadonlySet<string> = new Set()

export class Unanswered {
  readonly #sent: Sent[] = []
  #reported: Sent | undefined

  get empty(): boolean {
    return this.#sent.length === 0
  }

  get newest(): Sent | undefined {
    return this.#sent.at(-1)
  }

  add(sent: Sent): void {
    this.#sent.push(sent)
    if (this.#sent.length > KEPT) this.#sent.shift()
  }

  /**
   * Removes and returns the response with that nonce, which was just answered, and earlier ones, which will not be
   * answered: answers come in order.
   */
  settle(nonce: string): { readonly sent: Sent; readonly skipped: readonly Sent[] } | undefined {
    const skipped = this.#sent.splice(0, this.#sent.findIndex(sent => sent.nonce === nonce) + 1)
    const sent = skipped.pop()
    return sent && { sent, skipped }
  }

  /** Names that any of these responses contains. */
  touched(): ReadonlySet<string> {
    if (this.empty) return NOTHING
    return new Set(this.#sent.flatMap(({ changes }) => [...changes.keys()]))
  }

  /** Removes a name from all responses, so that their acknowledgement no longer affects it. */
  forget(name: string): void {
    for (const { changes } of this.#sent) changes.delete(name)
  }

  isOverdue(now: number, deadlineMs: number): boolean {
    const { newest } = this
    return newest !== undefined && now - newest.at >= deadlineMs
  }

  /** When the newest response becomes overdue, if that has consequences: it was not reported yet, or there is news. */
  deadline(deadlineMs: number, news: boolean): number | undefined {
    const { newest } = this
    if (newest === undefined || (!news && this.#reported === newest)) return undefined
    return newest.at + deadlineMs
  }

  /** True on the first call for an overdue response. */
  reportOnce(): boolean {
    if (this.#reported === this.newest) return false
    this.#reported = this.newest
    return true
  }
}
