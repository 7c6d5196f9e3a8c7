// SPDX-License-Identifier: Apache-2.0
// The first command of the README where nothing was ever built: what this repository holds, and what `npm ci` installs.

import { execFile } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { files } from "../architecture/tree.js"
import { ownPortsAndWaysIn } from "../e2e/local/support/own-ports.js"

const run = promisify(execFile)
/** Packages of others are those that are installed here. Our own are the clone's, and what tools keep is nobody's. */
const NOT_LINKED = new Set(["@merlon", ".cache", ".vite"])
let clone: string

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), "merlon-clone-"))
  for (const path of files()) cpSync(path, join(clone, path))
  for (const folder of ["node_modules", "packages/cli/node_modules"]) {
    mkdirSync(join(clone, folder))
    for (const name of readdirSync(folder).filter(entry => !NOT_LINKED.has(entry))) {
      symlinkSync(resolve(folder, name), join(clone, folder, name))
    }
  }
  mkdirSync(join(clone, "node_modules/@merlon"))
  for (const name of readdirSync("packages")) {
    symlinkSync(`../../packages/${name}`, join(clone, "node_modules/@merlon", name))
  }
})
afterAll(() => rmSync(clone, { recursive: true, force: true }))

it("`npm start` builds what it needs and runs a mesh", async () => {
  const ports = await ownPortsAndWaysIn()
  const port = ports.find(flag => flag.startsWith("httpbin.foo="))?.split("=")[1]
  const options = { cwd: clone, env: { PATH: process.env.PATH ?? "", HOME: clone }, maxBuffer: 1 << 24 }
  await run("npm", ["start", "--", "--detach", ...ports], options)
  try {
    expect((await fetch(`http://127.0.0.1:${port}/headers`)).status).toBe(200)
  } finally {
    await run("node", ["packages/cli/bin/merlonctl.js", "down"], options)
  }
})
