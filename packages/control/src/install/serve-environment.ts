// SPDX-License-Identifier: Apache-2.0
// The environment that the control plane is started with: the C library reads these variables before the program runs. TLS takes
// buffers of 16 KiB for a moment, between others that stay as long as their connection. Mapped by themselves, they go back.

export const SERVE_ENVIRONMENT = {
  MALLOC_MMAP_THRESHOLD_: "16384",
  /** As in `PROXY_ENVIRONMENT`; two for each of 10,000 proxies. */
  MALLOC_MMAP_MAX_: "24576",
} as const
