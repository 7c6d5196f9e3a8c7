// SPDX-License-Identifier: Apache-2.0
// Watches a configuration file and the files it names. Polls modification time and size: a mounted ConfigMap is
// replaced by switching a symlink, which file notifications do not report.

import { statSync } from "node:fs"
import { messageOf } from "@merlon/xds/runtime"
import type { Logger } from "pino"
import type { Configuration } from "../config/configuration.js"
import { readConfigurationFile } from "../config/file.js"
import { loadState, saveState } from "../config/state.js"
import type { ConfigurationSource, Sink } from "./source.js"

const POLL_MS = 500

export interface FileSourceOptions {
  readonly path: string
  /** Folder in which the last good configuration is kept; it is not kept if undefined. */
  readonly state: string | undefined
  readonly logger: Logger
}

export class FileSource implements ConfigurationSource {
  readonly #options: FileSourceOptions
  #sink: Sink | undefined
  #timer: NodeJS.Timeout | undefined
  #revision = 0
  /** The files of the last attempt, with their state before they were read. */
  #seen: ReadonlyMap<string, string> = new Map()

  constructor(options: FileSourceOptions) {
    this.#options = options
  }

  async start(sink: Sink): Promise<void> {
    this.#sink = sink
    this.#timer = setInterval(() => {
      if ([...this.#seen].some(([file, mark]) => markOf(file) !== mark)) this.reload()
    }, POLL_MS)
    try {
      await this.#load(sink)
    } catch (error) {
      sink.rejected(error)
      await this.#startFromLastGood(sink, error)
    }
  }

  reload(): void {
    const sink = this.#sink
    if (sink !== undefined) this.#load(sink).catch((error: unknown) => sink.rejected(error))
  }

  // The keys of a standalone proxy are in its file.
  unknownKeys(): void {}

  /** Without a control plane, nothing routes callers by this. */
  applicationReady(): void {}

  /** A standalone proxy is queried only through its admin port. */
  observe(): void {}

  close(): void {
    clearInterval(this.#timer)
    this.#sink = undefined
  }

  async #load(sink: Sink): Promise<void> {
    const seen = new Map<string, string>()
    this.#seen = seen
    // INVARIANT: a file's state is recorded before the file is read. Otherwise a change in between would count as seen
    // and never be read.
    const look = (file: string): void => void (seen.has(file) || seen.set(file, markOf(file)))
    const configuration = readConfigurationFile(this.#options.path, ++this.#revision, look)
    await sink.enforce(configuration)
    this.#keep(configuration)
  }

  async #startFromLastGood(sink: Sink, failure: unknown): Promise<void> {
    const { state, logger } = this.#options
    const lastGood = state === undefined ? undefined : loadState(state)
    if (lastGood === undefined) throw failure
    logger.warn({ revision: lastGood.revision }, "enforcing the last good configuration")
    await sink.enforce(lastGood)
  }

  // A full disk affects the next restart, not the enforced configuration.
  #keep(configuration: Configuration): void {
    const { state, logger } = this.#options
    if (state === undefined) return
    try {
      saveState(state, configuration)
    } catch (error) {
      logger.error({ error: messageOf(error) }, "the current configuration could not be saved")
    }
  }
}

function markOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false })
  return stats === undefined ? "-" : `${stats.mtimeMs}/${stats.size}/${stats.ino}`
}
