// SPDX-License-Identifier: Apache-2.0
// Collects the key sets in which a key was missing. A caller chooses which key its token names and how often, so each
// set is reported at a limited rate.

const INTERVAL_MS = 1_000

export class KeyReports {
  readonly #report: (keySetIds: readonly string[]) => void
  readonly #missed = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(report: (keySetIds: readonly string[]) => void) {
    this.#report = report
  }

  /** The first report is sent at once. */
  add(keySetIds: readonly string[]): void {
    for (const id of keySetIds) this.#missed.add(id)
    if (this.#timer === undefined) this.#flush()
  }

  #flush(): void {
    if (this.#missed.size === 0) {
      this.#timer = undefined
      return
    }
    const ids = [...this.#missed]
    this.#missed.clear()
    this.#timer = setTimeout(() => this.#flush(), INTERVAL_MS).unref()
    this.#report(ids)
  }
}
