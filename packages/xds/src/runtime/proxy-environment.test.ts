// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { PROXY_ENVIRONMENT } from "./proxy-environment.js"

const UNIT = new URL("../../../../deploy/systemd/merlon-xserver@.service", import.meta.url)

it("is the same in the systemd unit", () => {
  const variables = Object.entries(PROXY_ENVIRONMENT).map(([name, value]) => `${name}=${value}`)
  expect(readFileSync(UNIT, "utf8")).toContain(`\nEnvironment=${variables.join(" ")}\n`)
})
