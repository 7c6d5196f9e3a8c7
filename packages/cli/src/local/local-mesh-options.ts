// SPDX-License-Identifier: Apache-2.0
// Options of a local mesh.

import type { LayoutRequest } from "./layout/layout.js"
import type { Programs } from "./processes/programs.js"
import type { Progress } from "./progress.js"

export interface LocalMeshOptions extends LayoutRequest {
  /** An absolute path. */
  readonly data: string
  readonly mesh: string
  readonly domain: string
  readonly programs: Programs
  readonly progress: Progress
}
