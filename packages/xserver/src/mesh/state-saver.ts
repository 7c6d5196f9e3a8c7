// SPDX-License-Identifier: Apache-2.0
// Saves the enforced state for the next start. If the disk write fails, the older state is removed, because a restart
// without the control plane would enforce it. The write is retried until it succeeds.

import { messageOf } from "@merlon/xds/runtime"
import type { Logger } from "pino"
import { keepState, removeState, type SavedState } from "./saved-state.js"

const RETRY_MS = 5_000

export interface StateSaverOptions {
  readonly folder: string
  readonly logger: Logger
  /** Called when state that could be neither replaced nor removed has finally been replaced. */
  readonly replaced: () => void
}

export class StateSaver {
  readonly #options: StateSaverOptions
  #retry: NodeJS.Timeout | undefined
  #isStale = false

  constructor(options: StateSaverOptions) {
    this.#options = options
  }

  /** Throws if an older state stays on disk: the enforced one would not survive a restart. */
  keep(state: SavedState): void {
    const { folder, logger, replaced } = this.#options
    clearTimeout(this.#retry)
    try {
      keepState(folder, state)
    } catch (error) {
      this.#retry = setTimeout(() => this.#keepAgain(state), RETRY_MS).unref()
      logger.error({ error: messageOf(error) }, "the current configuration could not be saved; retrying")
      this.#remove(error)
      return
    }
    if (this.#isStale) replaced()
    this.#isStale = false
  }

  close(): void {
    clearTimeout(this.#retry)
  }

  #remove(failure: unknown): void {
    try {
      removeState(this.#options.folder)
    } catch (error) {
      this.#isStale = true
      // Fails closed: the revision is not acknowledged, because a restart would undo it.
      throw new Error(
        `the state in \`${this.#options.folder}\` can be neither replaced (${messageOf(failure)}) nor removed (${messageOf(error)}); a restart would enforce an older configuration`,
      )
    }
  }

  #keepAgain(state: SavedState): void {
    try {
      this.keep(state)
    } catch (error) {
      this.#options.logger.error({ error: messageOf(error) }, "an older configuration is still on disk")
    }
  }
}
