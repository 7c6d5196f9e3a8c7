// SPDX-License-Identifier: Apache-2.0
// A source of configurations: a file, or the control plane. It keeps its own last good state and starts from it.

import type { Configuration } from "../config/configuration.js"
import type { Observed } from "../observe/observed.js"

export interface Sink {
  /**
   * Resolves when no request starts under another configuration any more. Rejects if the configuration cannot be used.
   */
  enforce(configuration: Configuration): Promise<void>
  /** The source received something that is not a configuration; the current one stays in effect. */
  rejected(error: unknown): void
}

export interface ConfigurationSource {
  /** Resolves when a configuration is enforced. Rejects if there will be none. */
  start(sink: Sink): Promise<void>
  /** Reads the configuration again, whether it changed or not. */
  reload(): void
  /** Reports key sets that lack a key which some token named. */
  unknownKeys(ids: readonly string[]): void
  /** Reports whether the application accepts calls, for the control plane that routes callers here. */
  applicationReady(ready: boolean): void
  /** Passes on the observed calls, for sources that report them. */
  observe(observed: Observed): void
  close(): void
}
