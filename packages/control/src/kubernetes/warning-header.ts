// SPDX-License-Identifier: Apache-2.0
// Warnings in the server's response headers (RFC 7234 section 5.5, as Kubernetes uses it: code 299 only).

const MAX_WARNINGS = 50
const VALUE = /(\d{3}) (?:\S+) "((?:[^"\\]|\\.)*)"/g

export function readWarnings(lines: readonly string[]): readonly string[] {
  const found = lines.flatMap(line => [...line.matchAll(VALUE)])
  return found
    .filter(([, code]) => code === "299")
    .slice(0, MAX_WARNINGS)
    .map(([, , text = ""]) => decoded(text.replace(/\\(.)/g, "$1")))
}

/** Servers send UTF-8, which Node decodes as Latin-1. */
function decoded(text: string): string {
  const utf8 = Buffer.from(text, "latin1").toString("utf8")
  return utf8.includes("\ufffd") ? text : utf8
}
