// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { oidcOptions } from "./oidc-options.js"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-oidc-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const flags = {
  consoleOidcIssuer: "https://issuer.example",
  consoleOidcClientId: "console",
  consoleOidcScope: ["groups"],
}

it("is undefined without flags", () => {
  expect(oidcOptions({ consoleOidcScope: [] })).toBeUndefined()
})

it("takes an issuer and a client, with an optional secret from a file", () => {
  const file = join(folder, "secret")
  writeFileSync(file, "s3cret\n")
  const known = { issuer: "https://issuer.example", clientId: "console", scopes: ["groups"] }
  expect(oidcOptions(flags)).toEqual(known)
  expect(oidcOptions({ ...flags, consoleOidcClientSecretFile: file })).toEqual({ ...known, clientSecret: "s3cret" })
})

it.each([
  [
    "a client without an issuer",
    { consoleOidcClientId: "console", consoleOidcScope: [] },
    /needs `--console-oidc-issuer`/,
  ],
  [
    "an issuer without a client",
    { consoleOidcIssuer: "https://a", consoleOidcScope: [] },
    /needs `--console-oidc-client/,
  ],
  ["what is no address", { ...flags, consoleOidcIssuer: "issuer" }, /`issuer` is no issuer/],
  ["an address with a query", { ...flags, consoleOidcIssuer: "https://a?b" }, /is no issuer/],
  ["a file that is not there", { ...flags, consoleOidcClientSecretFile: "/none" }, /cannot use `\/none`.*ENOENT/],
])("rejects %s", (_, given, words) => {
  expect(() => oidcOptions(given)).toThrow(words)
})
