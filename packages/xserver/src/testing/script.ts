// SPDX-License-Identifier: Apache-2.0
// Bundles a test's child process into one plain script: a TypeScript loader in each process would take longer than the
// test itself.

import { buildSync } from "esbuild"

/** `source` with everything that it imports by relative paths from `folder`. */
export function script(source: string, folder: string): string {
  const stdin = { contents: source, resolveDir: folder }
  const { outputFiles } = buildSync({ stdin, bundle: true, write: false, platform: "node", format: "esm" })
  return outputFiles.map(({ text }) => text).join("")
}
