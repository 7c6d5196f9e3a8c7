// SPDX-License-Identifier: Apache-2.0
// @module-tag needs/curl
// @module-tag needs/kubectl
import { afterAll, beforeAll, describe } from "vitest"
import { allOf } from "./suites/all.js"
import { outages } from "./suites/outages.js"
import { MERLON, Mission } from "./support/mission.js"

let mission: Mission
beforeAll(async () => {
  mission = await Mission.start(MERLON)
})
afterAll(() => mission.stop())

allOf(() => mission)

describe("outages", () => outages(() => mission))
