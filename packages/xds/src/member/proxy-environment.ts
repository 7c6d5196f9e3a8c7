// SPDX-License-Identifier: Apache-2.0
// What a proxy's process is started with wherever we start it: Node and the C library read these before a line of ours runs.
// A proxy stands beside every workload and works in one thread. V8 would compile in four others and each would keep memory of
// its own, 4 to 7 MiB together. And what V8 takes while it compiles comes in pieces of 32 KiB between others that stay, so that
// the C library would keep most of it: each is mapped by itself, and goes back when the function is done.

/**
 * How many may be mapped by themselves, beyond which the heap serves. By itself the C library would map 65,536, and the kernel
 * allows all mappings of a process 65,530 (`vm.max_map_count`): V8 ends a process that gets no further one, however much memory
 * there is, and callers choose how many buffers are held for them.
 */
const MOST_MAPPED = "8192"

export const PROXY_ENVIRONMENT = {
  NODE_OPTIONS: "--v8-pool-size=1",
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "32768",
  MALLOC_MMAP_MAX_: MOST_MAPPED,
  MALLOC_TRIM_THRESHOLD_: "65536",
} as const

/** Beside options for Node that the process has anyway. */
export function proxyEnvironment({ NODE_OPTIONS = "" }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...PROXY_ENVIRONMENT, NODE_OPTIONS: `${PROXY_ENVIRONMENT.NODE_OPTIONS} ${NODE_OPTIONS}`.trim() }
}
