// SPDX-License-Identifier: Apache-2.0
// A local mesh without samples, which a second machine and a user's own programs join. Each has its own namespace, and
// the programs come last, since they restart the mesh.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect } from "vitest"
import { ownPrograms } from "./joined/own-programs.js"
import { secondMachine } from "./joined/second-machine.js"
import { Merlonctl } from "./support/merlonctl.js"
import { ownPorts } from "./support/own-ports.js"

const folder = mkdtempSync(join(tmpdir(), "joined-"))
const mesh = new Merlonctl(join(folder, "mesh"))
let start: readonly string[]

beforeAll(async () => {
  start = ["up", "--detach", "--no-samples", "--mesh-listen", "0.0.0.0", ...(await ownPorts())]
  const { code, stderr } = await mesh.run(...start)
  expect(code, stderr).toBe(0)
})

afterAll(async () => {
  await mesh.run("down")
  rmSync(folder, { recursive: true, force: true })
})

secondMachine(mesh)
ownPrograms(mesh, () => start)
