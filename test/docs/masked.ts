// SPDX-License-Identifier: Apache-2.0
// What differs from one run of a command to the next and says nothing: times, ages, ids, revisions, versions, where files lie,
// and how wide columns are for it. A page shows such output in a block `output`; everything else of it is compared.

const MASKS: readonly (readonly [what: RegExp, mask: string])[] = [
  [/\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g, "TIME"],
  [/\b\d{2}:\d{2}:\d{2}\b/g, "TIME"],
  [/\b[0-9a-f]{20}\b/g, "ID"],
  [/\b\d{13}\b/g, "REVISION"],
  [/\b\d+(?:s|m|h|d|y)(?:\d+[smh])?\b/g, "AGE"],
  [/(?<![\d.])v?\d+\.\d+\.\d+(?:\+\w+)?(?![\d.])/g, "VERSION"],
  [/\b(?:linux|darwin) (?:x64|arm64)\b/g, "PLATFORM"],
  [/`[^`]*\/kubeconfig`/g, "`KUBECONFIG`"],
  [/ {2,}/g, "  "],
]

export function masked(text: string): string {
  return MASKS.reduce((rest, [what, mask]) => rest.replace(what, mask), text)
}
