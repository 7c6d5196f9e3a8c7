// SPDX-License-Identifier: Apache-2.0
// The proxy has files for itself: it starts beside every workload, and a file that programs share is cut wherever one of
// them needs a part of it only. Finding and linking sixty pieces took a quarter of the work of a start.

import type { Plugin } from "esbuild"

/** What merlond loads when it is to be a proxy. */
export const XSERVER = "packages/cli/src/commands/xserver.ts"

export const xserverApart: Plugin = {
  name: "xserver-apart",
  setup(plugin) {
    plugin.onResolve({ filter: /^\.\/commands\/xserver\.js$/ }, ({ kind }) =>
      kind === "dynamic-import" ? { path: "./xserver.js", external: true } : undefined,
    )
  },
}
