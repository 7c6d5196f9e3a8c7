// SPDX-License-Identifier: Apache-2.0
// Bundles the proxy into its own files: it starts beside every workload, and shared files would be split wherever
// another program needs only a part. Finding and linking sixty chunks took a quarter of its startup.

import type { Plugin } from "esbuild"

/** The module that merlond loads to be a proxy. */
export const XSERVER = "packages/cli/src/commands/xserver.ts"

export const separateXserver: Plugin = {
  name: "separate-xserver",
  setup(plugin) {
    plugin.onResolve({ filter: /^\.\/commands\/xserver\.js$/ }, ({ kind }) =>
      kind === "dynamic-import" ? { path: "./xserver.js", external: true } : undefined,
    )
  },
}
