// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { readText, sourceFiles } from "./tree.js"

/** Where TLS is begun, on either side. */
const BEGINS =
  /import \{[^}]*\b(?:connect|createServer|createSecureContext|request|Agent|Pool)\b[^}]*\} from "(?:node:tls|node:https|undici)"/

it("begins no TLS connection below the floor", () => {
  const below = sourceFiles()
    .filter(path => path.startsWith("packages/") && !path.endsWith(".test.ts") && !path.includes("/testing/"))
    .filter(path => BEGINS.test(readText(path)) && !/\.\.\.TLS_(?:FLOOR|OWN)\b/.test(readText(path)))
  expect(below).toEqual([
    // Checks that key and certificate fit together; nothing is served with it.
    "packages/xserver/src/accept/transport-security.ts",
    // The application's own port on this machine, asked whether it is healthy.
    "packages/xserver/src/admin/ask-application.ts",
  ])
})
