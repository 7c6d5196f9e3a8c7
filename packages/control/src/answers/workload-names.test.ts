// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { MemoryDirectory } from "../routes/testing/memory-directory.js"
import { workload } from "../routes/testing/mesh.js"
import { WorkloadNames } from "./workload-names.js"

it("finds a workload by each of its addresses, except a shared one", () => {
  const directory = new MemoryDirectory()
  directory.setWorkload("app/both", workload("both", { addresses: ["10.0.0.1", "fd00::1"] }))
  directory.setWorkload("app/other", workload("other", { addresses: ["10.0.0.2", "fd00::9"] }))
  directory.setWorkload("app/shares", workload("shares", { addresses: ["10.0.0.3", "fd00::9"] }))
  const names = new WorkloadNames(directory)
  expect(["10.0.0.1", "fd00::1", "10.0.0.2", "fd00::9", "fd00::5"].map(address => names.at(address))).toEqual([
    "app/both",
    "app/both",
    "app/other",
    undefined,
    undefined,
  ])
})
