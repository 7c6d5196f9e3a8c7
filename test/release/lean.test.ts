// SPDX-License-Identifier: Apache-2.0
// Parts that a proxy beside every workload must not contain: each of them would cost megabytes in every proxy.

import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

const BUNDLE = "packages/cli/bundle"
const TELL = "process.on('exit', () => process.stderr.write(process.moduleLoadList.join('\\n')))"

it("starts xserver without the parts of Node that it does not use", () => {
  const preload = `data:text/javascript,${encodeURIComponent(TELL)}`
  const args = ["--import", preload, join(BUNDLE, "merlond.js"), "xserver", "--help"]
  const { status, stderr } = spawnSync("node", args, { encoding: "utf8" })
  expect(status).toBe(0)
  const loaded = stderr.split("\n").map(line => line.replace("NativeModule ", ""))
  expect(loaded).toContain("crypto")
  const unused = ["http2", "internal/crypto/webcrypto", "internal/deps/undici/undici"]
  expect(loaded.filter(name => unused.includes(name))).toEqual([])
})

it("has only programs that V8 stores with one byte per character", () => {
  const scripts = readdirSync(BUNDLE).filter(name => name.endsWith(".js"))
  expect(scripts).toContain("merlond.js")
  const wide = scripts.filter(name => /[^\0-\xff]/.test(readFileSync(join(BUNDLE, name), "utf8")))
  expect(wide).toEqual([])
})
