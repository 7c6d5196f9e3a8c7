// SPDX-License-Identifier: Apache-2.0
// A data folder of an earlier version is used unchanged: its objects, its root, and what its proxies had to enforce.
// The folder was made by `merlonctl up` with the samples, two policies and a split, at the first release.
// @module-tag needs/tar

import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { Merlonctl } from "../e2e/local/support/merlonctl.js"
import { ownAndIngressPorts } from "../e2e/local/support/own-ports.js"

const folder = mkdtempSync(join(tmpdir(), "upgrade-"))
const mesh = new Merlonctl(join(folder, "data"))
let root: string

beforeAll(async () => {
  mkdirSync(mesh.data, { mode: 0o700 })
  execFileSync("tar", ["-xzf", "test/resilience/fixtures/data-of-0.1.0.tgz", "-C", mesh.data])
  root = readFileSync(join(mesh.data, "workloads", "foo.httpbin-1", "root.pem"), "utf8")
  const { code, stderr } = await mesh.run("up", "--detach", ...(await ownAndIngressPorts()))
  expect(code, stderr).toBe(0)
})
afterAll(async () => {
  await mesh.run("down")
  rmSync(folder, { recursive: true, force: true })
})

it("has every object that was stored", async () => {
  const { stdout } = await mesh.run(
    "get",
    "requestauthentications,authorizationpolicies,meshservices",
    "-A",
    "-o",
    "name",
  )
  expect(stdout.trim().split("\n").sort()).toEqual([
    "authorizationpolicy.security.merlon.dev/require-jwt",
    "meshservice.networking.merlon.dev/web",
    "requestauthentication.security.merlon.dev/jwt",
  ])
})

it("has the same root, and enforces what was stored", async () => {
  expect(readFileSync(join(mesh.data, "workloads", "foo.httpbin-1", "root.pem"), "utf8")).toBe(root)
  expect((await fetch(mesh.exposed("httpbin.foo", "/headers"))).status).toBe(403)
})

it("routes as before", async () => {
  const { code, stdout } = await mesh.run(
    "exec",
    "consumer",
    "-n",
    "app",
    "--",
    "xclient",
    "--expect",
    "v1=50,v2=50",
    "--wait-timeout",
    "2m",
    "--request-timeout",
    "1m",
    "10",
  )
  expect([code, stdout]).toEqual([0, "v1 5 50%\nv2 5 50%\n"])
})
