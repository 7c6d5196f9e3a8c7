// SPDX-License-Identifier: Apache-2.0
// Limits the memory that a proxy's process keeps. Free memory of `malloc` is returned to the system, and a collection
// runs after load even if nothing new is allocated. Objects live as long as a request, so the young generation of the
// heap need not grow: V8 would let it take twice 16 MiB (twice 64 since Node 24). With twenty busy connections this
// saves 4 to 7 MB.

import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { loadLibc } from "@merlon/wire/native"

const INTERVAL_MS = 30_000
/**
 * Growth of buffers since the last collection. V8 collects by itself when a busy process allocates; an idle one keeps
 * them.
 */
const WORTH_COLLECTING = 32 << 20
/** Share of one core. A collection takes tens of milliseconds, which delays no request at such a low load. */
const IDLE_SHARE = 0.05

/** Call before anything else is allocated. Resolves to the reason if memory that was taken under load may be kept. */
export async function keepMemorySmall(intervalMs = INTERVAL_MS): Promise<string | undefined> {
  setFlagsFromString("--semi-space-growth-factor=1")
  // The allocators of other systems return memory by themselves.
  const libc = process.platform === "linux" ? await loadLibc() : undefined
  const isThere = libc !== undefined && !("unavailable" in libc)
  const collectWhenIdle = idleCollector(intervalMs)
  setInterval(() => {
    collectWhenIdle()
    // Returns the buffers of an earlier flood, and what compilers used while the process was young.
    if (isThere) libc.trimHeap()
  }, intervalMs).unref()
  return libc === undefined || isThere ? undefined : libc.unavailable
}

function idleCollector(intervalMs: number): () => void {
  let left = 0
  let before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    before = process.cpuUsage()
    if (user + system > IDLE_SHARE * intervalMs * 1_000) return
    if (process.memoryUsage().arrayBuffers < left + WORTH_COLLECTING) return
    collect()
    left = process.memoryUsage().arrayBuffers
  }
}

function collect(): void {
  setFlagsFromString("--expose-gc")
  // A second time, for buffers whose owners the first collection found.
  runInNewContext("gc(); gc()")
  setFlagsFromString("--no-expose-gc")
}
