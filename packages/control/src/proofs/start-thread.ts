// SPDX-License-Identifier: Apache-2.0
// Starts the proof thread with a memory limit: a proof that needs more memory ends the thread and not the process.

import type { Worker } from "node:worker_threads"
import { startWorker } from "@merlon/xds/runtime"
import type { ThreadSetup } from "./question.js"

export function startThread(setup: ThreadSetup): Worker {
  return startWorker(
    { beside: import.meta.url, name: "proof-thread-main", asset: "proof-thread.cjs" },
    { workerData: setup, resourceLimits: { maxOldGenerationSizeMb: 512 } },
  )
}
