// SPDX-License-Identifier: Apache-2.0
// A process that holds connections for a control plane, which starts it (`--stream-workers`). A file of its own, so that it
// carries nothing of what the control plane knows.

import { MeshServer } from "@merlon/xds"

export function runStreamWorker(): Promise<void> {
  return MeshServer.work()
}
