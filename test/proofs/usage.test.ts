// SPDX-License-Identifier: Apache-2.0
// The command line of `proof-check`: a mistyped option must not look like a verdict about a certificate.

import { spawnSync } from "node:child_process"
import { expect, it } from "vitest"

const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, ["packages/proof-check/bin/proof-check.js", ...args], { encoding: "utf8" })

it("prints its usage with `--help`", () => {
  expect(run("--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("Usage: proof-check CERTIFICATE") })
})

it("rejects an unknown option with its usage, and exits with 2", () => {
  expect(run("--polices", "a")).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining("Usage:") })
})
