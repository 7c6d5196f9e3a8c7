// SPDX-License-Identifier: Apache-2.0
// The environment that a proxy is started with: the C library reads these variables before the program runs. glibc keeps freed
// buffers that lie between others. Mapped by themselves, large ones go back to the system: after two floods of 3,000 connections
// a proxy kept 61 MB instead of 103 (Node 20).

export const PROXY_ENVIRONMENT = {
  MALLOC_MMAP_THRESHOLD_: "32768",
  /**
   * Beyond this many the heap serves. The kernel allows a process 65,530 mappings (`vm.max_map_count`), V8 aborts a process that
   * gets no further one, and callers choose how many buffers are held for them.
   */
  MALLOC_MMAP_MAX_: "8192",
} as const
