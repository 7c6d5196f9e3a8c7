// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { readText, sourceFiles } from "./tree.js"

/** Imports of functions that start TLS connections, on either side. */
const BEGINS =
  /import \{[^}]*\b(?:connect|createServer|createSecureContext|request|Agent|Pool)\b[^}]*\} from "(?:node:tls|node:https|undici)"/

it("starts no TLS connection below the TLS floor", () => {
  const below = sourceFiles()
    .filter(path => path.startsWith("packages/") && !path.endsWith(".test.ts") && !path.includes("/testing/"))
    .filter(path => BEGINS.test(readText(path)) && !/\.\.\.TLS_(?:FLOOR|INTERNAL)\b/.test(readText(path)))
  expect(below).toEqual([
    // Only checks that key and certificate match, and serves nothing.
    "packages/xserver/src/accept/transport-security.ts",
    // Health checks of the application's own port on this machine.
    "packages/xserver/src/admin/probe-application.ts",
  ])
})
