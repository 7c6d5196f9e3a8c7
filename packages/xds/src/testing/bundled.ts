// SPDX-License-Identifier: Apache-2.0
// Source as one plain script, for a process of its own: a loader of TypeScript in each takes longer than what most of them do.

import { buildSync } from "esbuild"

/** `source` with everything that it imports, by paths from `folder` or as packages. */
export function bundled(source: string, folder: string): string {
  const { outputFiles } = buildSync({
    stdin: { contents: source, resolveDir: folder, loader: "ts" },
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@merlon/source"],
    // What CommonJS dependencies expect to find.
    banner: {
      js: 'import { createRequire as $require } from "node:module"; const require = $require(import.meta.url);',
    },
  })
  const [script] = outputFiles
  if (script === undefined) throw new Error("unreachable: there is one script")
  return script.text
}
