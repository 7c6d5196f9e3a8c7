// SPDX-License-Identifier: Apache-2.0
// Which proxies of a local mesh are ready, by polling: external callers only reach those. A proxy is ready when it
// enforces its policies and, if it can probe it, its application is ready too.

import { Agent } from "node:http"
import type { Target } from "../layout/ingress-port.js"
import { httpGet } from "./http-get.js"

export interface WatchedTarget extends Target {
  readonly health: number
}

const LOOK_EVERY_MS = 500

export class Readiness {
  readonly #targets: () => readonly WatchedTarget[]
  /** Polled twice a second. A new connection for each poll would be most of the cost of an idle mesh. */
  readonly #kept = new Agent({ keepAlive: true })
  #notReady: ReadonlySet<string> = new Set()
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(targets: () => readonly WatchedTarget[]) {
    this.#targets = targets
  }

  start(): void {
    void this.#look()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#kept.destroy()
  }

  /** The ready proxies. If none is ready, all: a rejected connection tells callers more than none. */
  ready<T extends Target>(targets: readonly T[]): readonly T[] {
    const ready = targets.filter(({ address }) => !this.#notReady.has(address))
    return ready.length === 0 ? targets : ready
  }

  async #look(): Promise<void> {
    const seen = await Promise.all(
      this.#targets().map(async ({ address, health }) => {
        const answer = await httpGet(address, health, "/healthz/ready", this.#kept)
        return answer?.status === 200 ? [] : [address]
      }),
    )
    if (this.#stopped) return
    this.#notReady = new Set(seen.flat())
    this.#timer = setTimeout(() => void this.#look(), LOOK_EVERY_MS)
  }
}
