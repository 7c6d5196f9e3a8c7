// SPDX-License-Identifier: Apache-2.0
// Masks output that differs between runs: times, ages, ids, revisions, versions, file paths, addresses of a local mesh,
// and the column widths that depend on them. Pages show such output in an `output` block; the rest of the block is
// compared.

const MASKS: readonly (readonly [what: RegExp, mask: string])[] = [
  [/\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g, "TIME"],
  [/\b\d{2}:\d{2}:\d{2}\b/g, "TIME"],
  [/\b[0-9a-f]{20}\b/g, "ID"],
  [/\b\d{13}\b/g, "REVISION"],
  [/\b\d+(?:s|m|h|d|y)(?:\d+[smh])?\b/g, "AGE"],
  [/(?<![\d.])v?\d+\.\d+\.\d+(?:\+\w+)?(?![\d.])/g, "VERSION"],
  [/\b(?:linux|darwin) (?:x64|arm64)\b/g, "PLATFORM"],
  [/`[^`]*\/kubeconfig`/g, "`KUBECONFIG`"],
  // A local mesh takes the first block of addresses that is free on the machine.
  [/\b127\.[1-9]\d*\.0\.(\d+)\b/g, "127.BLOCK.0.$1"],
  [/ {2,}/g, "  "],
]

export function masked(text: string): string {
  return MASKS.reduce((rest, [what, mask]) => rest.replace(what, mask), text)
}
