// SPDX-License-Identifier: Apache-2.0
// Who comes into a local mesh that has no samples: a second machine, and programs of a person's own. Each has a namespace of its
// own, and the programs come last, since they start the mesh again.

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
