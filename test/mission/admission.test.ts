// SPDX-License-Identifier: Apache-2.0
import { afterAll, beforeAll } from "vitest"
import { admission } from "./suites/admission.js"
import { MERLON, Mission } from "./support/mission.js"

let mission: Mission
beforeAll(async () => {
  mission = await Mission.start(MERLON)
})
afterAll(() => mission.stop())

admission(() => mission)
