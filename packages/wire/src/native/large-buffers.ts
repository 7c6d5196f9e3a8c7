// SPDX-License-Identifier: Apache-2.0
// Returns the memory of large buffers to the system when they are freed. glibc keeps freed buffers that lie between
// others, so a process would keep the memory that a flood of connections took. A buffer with its own mapping leaves no
// such gap.

import { loadLibc } from "./libc.js"

export interface LargeBuffers {
  /** In bytes: a larger buffer gets its own mapping. */
  readonly threshold: number
  /**
   * Maximum number of mappings; further buffers come from the heap. The kernel allows a process 65,530 mappings
   * (`vm.max_map_count`), V8 aborts a process that cannot get another one, and callers influence how many buffers are
   * held.
   */
  readonly most: number
}

/**
 * TLS briefly takes two buffers of 16 KiB for each of 10,000 proxies, between others that stay as long as a connection.
 */
export const CONTROL_PLANE_BUFFERS: LargeBuffers = { threshold: 16_384, most: 24_576 }

/** Call this once, before there is load. Resolves to the reason if freed buffers may stay in the process. */
export async function mapLargeBuffers({ threshold, most }: LargeBuffers): Promise<string | undefined> {
  // The allocators of other systems return memory by themselves.
  if (process.platform !== "linux") return undefined
  const libc = await loadLibc()
  if ("unavailable" in libc) return libc.unavailable
  libc.mapLargeBuffers(threshold, most)
  return undefined
}
