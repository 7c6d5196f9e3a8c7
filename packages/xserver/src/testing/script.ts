// SPDX-License-Identifier: Apache-2.0
// What a process of its own is to run, as one plain script: a loader of TypeScript in each takes longer than what they do.

import { buildSync } from "esbuild"

/** `source` with everything that it imports by paths from `folder`. */
export function script(source: string, folder: string): string {
  const stdin = { contents: source, resolveDir: folder }
  const { outputFiles } = buildSync({ stdin, bundle: true, write: false, platform: "node", format: "esm" })
  return outputFiles.map(({ text }) => text).join("")
}
