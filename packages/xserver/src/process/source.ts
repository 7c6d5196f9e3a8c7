// SPDX-License-Identifier: Apache-2.0
// Where configurations come from: a file, or the control plane. A source keeps its own last good state and starts from it.

import type { Configuration } from "../config/configuration.js"
import type { Observed } from "../observe/observed.js"

export interface Sink {
  /** Resolves when no request starts under another configuration any more. Rejects where it cannot be used. */
  enforce(configuration: Configuration): Promise<void>
  /** Something came that is no configuration; what is in force stays. */
  rejected(error: unknown): void
}

export interface ConfigurationSource {
  /** Resolves when a configuration is in force. Rejects where there will be none. */
  start(sink: Sink): Promise<void>
  /** Looks again, whether anything changed or not. */
  reload(): void
  /** Key sets that lack a key which some token named. */
  unknownKeys(ids: readonly string[]): void
  /** Whether the application behind accepts calls, for the control plane that routes callers here. */
  applicationReady(ready: boolean): void
  /** Observations of calls, if they are wanted. */
  observe(observed: Observed): void
  close(): void
}
