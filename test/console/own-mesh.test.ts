// SPDX-License-Identifier: Apache-2.0
// Tests that need a separate mesh: screenshots of pages, a change that blocks callers, a control plane that stops, and a
// thousand workloads. They share one mesh and run in this order.
// @module-tag needs/chromium
// @module-tag needs/kubectl

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startMesh } from "../../scripts/screenshots/mesh.js"
import { ClusterApi } from "../e2e/control/support/cluster-api.js"
import { Merlonctl } from "../e2e/local/support/merlonctl.js"
import { ownAndIngressPorts } from "../e2e/local/support/own-ports.js"
import { goesAway } from "./own-mesh/goes-away.js"
import { large } from "./own-mesh/large.js"
import { pictures } from "./own-mesh/pictures.js"
import { towardsMutualTls } from "./own-mesh/towards-mutual-tls.js"
import { complaints } from "./support/visit.js"

const folder = mkdtempSync(join(tmpdir(), "console-own-"))
const mesh = new Merlonctl(join(folder, "mesh"))
let flags: readonly string[] = []
let api: ClusterApi

beforeAll(async () => {
  flags = await ownAndIngressPorts()
  await startMesh(mesh, flags)
  api = new ClusterApi(`${mesh.data}/kubeconfig`, folder)
})

afterAll(async () => {
  await api.client.close()
  await mesh.run("down")
  rmSync(folder, { recursive: true, force: true })
})

describe("pictures", () => pictures(mesh))
towardsMutualTls(mesh, () => api)
goesAway(
  mesh,
  () => api,
  () => flags,
)
large(mesh, () => api)

it("logs no error on any page", () => {
  expect(complaints.filter(text => !text.startsWith("Applying inline style"))).toEqual([])
})
