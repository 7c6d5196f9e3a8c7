// SPDX-License-Identifier: Apache-2.0
// What the README promises where nothing was ever built: what this repository holds, and what `npm ci` installs.

import { execFile } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { blocks } from "../../scripts/markdown-blocks.js"
import { files, readText } from "../architecture/tree.js"
import { ownPortsAndWaysIn } from "../e2e/local/support/own-ports.js"

const run = promisify(execFile)
/** Packages of others are those that are installed here. Our own are the clone's, and what tools keep is nobody's. */
const NOT_LINKED = new Set(["@merlon", ".cache", ".vite"])
let clone: string
const options = (): object => ({
  cwd: clone,
  env: { PATH: process.env.PATH ?? "", HOME: clone },
  maxBuffer: 1 << 24,
  encoding: "utf8",
})

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), "merlon-clone-"))
  for (const path of files()) cpSync(path, join(clone, path))
  for (const folder of ["node_modules", "packages/cli/node_modules"].filter(existsSync)) {
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

const all = blocks(readText("README.md"))
const programs = all.map((block, index) => ({ ...block, prints: all[index + 1]?.text }))

// Before anything else: the mesh is built below.
it.each(programs.filter(({ language }) => language === "ts"))(
  "the program at README.md:$line runs as it is saved, and prints what stands there",
  async ({ text, prints }) => {
    writeFileSync(join(clone, "program.ts"), text)
    expect((await run("npx", ["tsx", "program.ts"], options())).stdout).toBe(prints)
  },
)

it("`npm start` builds what it needs and runs a mesh", async () => {
  const ports = await ownPortsAndWaysIn()
  const port = ports.find(flag => flag.startsWith("httpbin.foo="))?.split("=")[1]
  await run("npm", ["start", "--", "--detach", ...ports], options())
  try {
    expect((await fetch(`http://127.0.0.1:${port}/headers`)).status).toBe(200)
  } finally {
    await run("node", ["packages/cli/bin/merlonctl.js", "down"], options())
  }
})
