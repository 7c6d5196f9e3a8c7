// SPDX-License-Identifier: Apache-2.0
// What a proxy's process is started with wherever we start it: Node and the C library read these before a line of ours runs.
// A proxy stands beside every workload and works in one thread. V8 would compile in four others and each would keep memory of
// its own, 4 to 7 MiB together. And what V8 takes while it compiles comes in pieces of 32 KiB between others that stay, so that
// the C library would keep most of it: each is mapped by itself, and goes back when the function is done.

export const PROXY_ENVIRONMENT = {
  NODE_OPTIONS: "--v8-pool-size=1",
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "32768",
  MALLOC_TRIM_THRESHOLD_: "65536",
} as const

/** Beside options for Node that the process has anyway. */
export function proxyEnvironment({ NODE_OPTIONS = "" }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...PROXY_ENVIRONMENT, NODE_OPTIONS: `${PROXY_ENVIRONMENT.NODE_OPTIONS} ${NODE_OPTIONS}`.trim() }
}
