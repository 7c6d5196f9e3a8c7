// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { writeCheckedFile } from "@merlon/xds/runtime"
import { afterEach, beforeEach, expect, it } from "vitest"
import { TestMesh } from "../testing/mesh.js"
import { TestRoutes } from "../testing/test-routes.js"
import { HostRouting } from "./host-routing.js"
import { SavedRoutes } from "./saved-routes.js"

const ENDPOINT = { address: "10.0.0.1", port: 15_080, healthy: true, workload: "app/web", mtlsMode: "STRICT" } as const
const mesh = new TestMesh()
const routes = mesh.routes([{ subset: "", endpoints: [ENDPOINT], cluster: { tlsMode: "DUBBO_MUTUAL" } }])
const POLICY = { mode: "REGISTRY_ONLY", mtls: ["10.96.0.9"] } as const
let folder = ""
let warnings: string[] = []
const log = { info() {}, warn: (_: object, message: string) => void warnings.push(message), error() {} }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "routes-"))
  warnings = []
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A process that learns the routes of four hosts and ends. */
async function learn(): Promise<void> {
  const filled = new TestRoutes({ answersAbsent: false, followsPolicy: true })
  const kept = new SavedRoutes(filled.knownRoutes, folder, log)
  for (const name of ["example.com:443", "192.0.2.1:443", "[2001:db8::1]:443"]) {
    filled.knownRoutes.ask(name)
    await filled.remove(name)
  }
  await filled.set("10.96.0.7:80", routes)
  await filled.setPolicy(POLICY)
  await kept.close()
}

it("are known after a restart without the control plane, and requested again when it is back", async () => {
  await learn()
  const { knownRoutes } = new TestRoutes({ answersAbsent: false })
  await new SavedRoutes(knownRoutes, folder, log).close()
  const answer = knownRoutes.ask("10.96.0.7:80")
  expect(answer).toBeInstanceOf(HostRouting)
  expect(answer instanceof HostRouting && answer.spec).toEqual(routes)
  expect(knownRoutes.ask("10.96.0.8:80")).toBe("unknown")
  expect(knownRoutes.subscription.names()).toEqual(["10.96.0.7:80", "10.96.0.8:80"])
  expect(knownRoutes.subscription.known().size).toBe(0)
})

const OUTSIDE = ["example.com:443", "192.0.2.1:443", "[2001:db8::1]:443"]

it.each(OUTSIDE)("do not claim that %s is outside of the mesh", async name => {
  await learn()
  const { knownRoutes } = new TestRoutes({ answersAbsent: false })
  await new SavedRoutes(knownRoutes, folder, log).close()
  expect(knownRoutes.ask(name)).toBe("unknown")
})

it.each(OUTSIDE)("of an earlier version do not claim it of %s either", async name => {
  writeCheckedFile(folder, "routes.json", JSON.stringify({ version: 1, routes: [{ name }] }))
  const { knownRoutes } = new TestRoutes({ answersAbsent: false })
  await new SavedRoutes(knownRoutes, folder, log).close()
  expect(warnings).toEqual([])
  expect(knownRoutes.ask(name)).toBe("unknown")
})

it("are private to their owner", async () => {
  await learn()
  expect(statSync(join(folder, "routes.json")).mode & 0o777).toBe(0o600)
})

it("are not used if a character was changed", async () => {
  await learn()
  const file = join(folder, "routes.json")
  writeFileSync(file, readFileSync(file, "utf8").replace("10.96.0.7", "10.96.0.9"))
  const { knownRoutes } = new TestRoutes({ answersAbsent: false })
  await new SavedRoutes(knownRoutes, folder, log).close()
  expect(knownRoutes.ask("10.96.0.9:80")).toBe("unknown")
  expect(warnings).toEqual(["the routes on disk cannot be used; starting without them"])
})

it("are skipped if the disk cannot be written", async () => {
  rmSync(folder, { recursive: true })
  writeFileSync(folder, "a file in place of the folder")
  await learn()
  expect(warnings).toEqual(["the routes could not be saved for the next start"])
})

it("include the outbound policy, without a version, so that it is requested again", async () => {
  await learn()
  const { knownRoutes } = new TestRoutes({ answersAbsent: false, followsPolicy: true })
  await new SavedRoutes(knownRoutes, folder, log).close()
  expect(knownRoutes.policy?.spec).toEqual(POLICY)
  expect(knownRoutes.policy?.mayDemandMtls("10.96.0.9")).toBe(true)
  expect(knownRoutes.policy?.mayDemandMtls("192.0.2.1")).toBe(false)
  expect(knownRoutes.subscription.known().size).toBe(0)
})

it("are saved in their last state if the proxy stops while it writes", async () => {
  const filled = new TestRoutes({ answersAbsent: false })
  const first = new SavedRoutes(filled.knownRoutes, folder, log)
  await filled.set("10.96.0.7:80", routes)
  const closing = first.close()
  const second = new SavedRoutes(filled.knownRoutes, `${folder}/other`, log)
  await filled.set("10.96.0.8:80", routes)
  await Promise.all([closing, second.close()])
  const { knownRoutes } = new TestRoutes({ answersAbsent: false })
  await new SavedRoutes(knownRoutes, `${folder}/other`, log).close()
  expect(knownRoutes.subscription.names()).toEqual(["10.96.0.7:80", "10.96.0.8:80"])
})
