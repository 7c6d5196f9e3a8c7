// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { rootCertificates } from "node:tls"
import { afterEach, beforeEach, expect, it } from "vitest"
import { readAuthorities } from "./issuer-authorities.js"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-authorities-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

function read(text: string): string {
  const file = join(folder, "ca.pem")
  writeFileSync(file, text)
  return readAuthorities(file)
}

it("reads certificates, with any text between them", () => {
  const text = `# ours\n${rootCertificates.slice(0, 2).join("\n\n")}\n`
  expect(read(text)).toBe(text)
})

it.each([
  ["is empty", ""],
  ["is no PEM", "hello"],
  ["holds a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"],
  [
    "holds a broken certificate",
    `${rootCertificates[0]}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
  ],
])("rejects a file that %s, and names it", (_, text) => {
  expect(() => read(text)).toThrow(/cannot use `.*ca.pem` as `--jwks-ca`: ./)
})

it("names a file that cannot be read", () => {
  expect(() => readAuthorities(join(folder, "none"))).toThrow(/cannot use `.*none` as `--jwks-ca`: ENOENT/)
})
