// SPDX-License-Identifier: Apache-2.0
// The command line of `proof-check`: a mistyped option must not look like a verdict about a certificate.

import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"

const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, ["packages/proof-check/bin/proof-check.js", ...args], { encoding: "utf8" })

it("prints its usage with `--help`", () => {
  expect(run("--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("Usage: proof-check CERTIFICATE") })
})

it("rejects an unknown option with its usage, and exits with 2", () => {
  expect(run("--polices", "a")).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining("Usage:") })
})

it("names a file that is not there, and exits with 2", () => {
  expect(run("not-there.json", "--policies", "test")).toMatchObject({
    status: 2,
    stdout: "",
    stderr: expect.stringContaining("not-there.json"),
  })
})

it("says which options the certificate needs", () => {
  const folder = mkdtempSync(join(tmpdir(), "merlon-check-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const certificate = join(folder, "certificate")
  const compared = { format: "merlon.dev/certificate/2", mesh: {}, policies: [{}, {}] }
  writeFileSync(certificate, `${JSON.stringify({ answers: [], ...compared })}\n`)
  expect(run(certificate, "--policies", folder)).toMatchObject({
    status: 3,
    stdout: expect.stringContaining("pass --from and --to"),
  })
})

it("reads the policies of every YAML and JSON file, also with capitals in its ending", () => {
  const folder = mkdtempSync(join(tmpdir(), "merlon-check-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const policy = { apiVersion: "security.merlon.dev/v1alpha3", kind: "AuthorizationPolicy", metadata: { name: "a" } }
  writeFileSync(join(folder, "a.YML"), JSON.stringify(policy))
  const certificate = join(folder, "certificate")
  const mesh = { format: "merlon.dev/certificate/2", mesh: {}, policies: [{}] }
  writeFileSync(certificate, `${JSON.stringify({ answers: [], ...mesh })}\n`)
  expect(run(certificate, "--policies", folder)).toMatchObject({
    status: 3,
    stdout: expect.stringContaining("AuthorizationPolicy default/a was not there"),
  })
})
