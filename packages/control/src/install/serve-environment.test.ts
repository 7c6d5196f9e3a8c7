// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { installManifests } from "./control-plane-manifests.js"
import { SERVE_ENVIRONMENT } from "./serve-environment.js"
import { readValues } from "./values.js"

const UNIT = new URL("../../../../deploy/systemd/merlon.service", import.meta.url)

describe("what the control plane's process is started with", () => {
  it("is the same in the unit of systemd", () => {
    const said = Object.entries(SERVE_ENVIRONMENT).map(([name, value]) => `${name}=${value}`)
    expect(readFileSync(UNIT, "utf8")).toContain(`\nEnvironment=${said.join(" ")}\n`)
  })

  it("is in the Deployment", () => {
    const deployment = installManifests(readValues("1.2.3", {})).find(({ kind }) => kind === "Deployment")
    const said = Object.entries(SERVE_ENVIRONMENT).map(([name, value]) => ({ name, value }))
    expect(JSON.stringify(deployment)).toContain(JSON.stringify(said).slice(1, -1))
  })
})
