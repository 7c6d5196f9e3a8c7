// SPDX-License-Identifier: Apache-2.0
// Large buffers go back to the system when they are freed. glibc keeps freed buffers that lie between others, so a process would hold
// what a flood of connections took. A buffer with a mapping of its own leaves no such gap.

import { loadLibc } from "./libc.js"

export interface LargeBuffers {
  /** In bytes: a buffer of more gets a mapping of its own. */
  readonly threshold: number
  /**
   * Beyond this many the heap serves. The kernel allows a process 65,530 mappings (`vm.max_map_count`), V8 aborts a process that
   * gets no further one, and callers choose how many buffers are held for them.
   */
  readonly most: number
}

/** TLS takes buffers of 16 KiB for a moment, two for each of 10,000 proxies, between others that stay as long as a connection. */
export const CONTROL_PLANE_BUFFERS: LargeBuffers = { threshold: 16_384, most: 24_576 }

/** Call it once, before load. Resolves to the reason where freed buffers may stay in the process. */
export async function mapLargeBuffers({ threshold, most }: LargeBuffers): Promise<string | undefined> {
  // The allocators of other systems give memory back by themselves.
  if (process.platform !== "linux") return undefined
  const libc = await loadLibc()
  if ("unavailable" in libc) return libc.unavailable
  libc.mapLargeBuffers(threshold, most)
  return undefined
}
