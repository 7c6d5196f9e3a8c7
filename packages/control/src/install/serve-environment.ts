// SPDX-License-Identifier: Apache-2.0
// What the control plane's process is started with wherever we start it: the C library reads it before a line of ours runs.
// TLS asks for buffers of 16 KiB for a moment, between others that stay for as long as their connection. Whenever the heap
// grew for one, a gap of its size would be left; this way it is mapped by itself, and goes back. Without room to spare at the
// end of the heap there is none that such a buffer could be cut from instead.

/**
 * How many may be mapped by themselves, as with a proxy (`PROXY_ENVIRONMENT`); two for each of 10,000 proxies, and far from what
 * the kernel allows.
 */
const MOST_MAPPED = "24576"

export const SERVE_ENVIRONMENT = {
  MALLOC_MMAP_THRESHOLD_: "16384",
  MALLOC_MMAP_MAX_: MOST_MAPPED,
  MALLOC_TOP_PAD_: "0",
} as const
