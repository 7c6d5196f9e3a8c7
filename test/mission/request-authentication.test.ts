// SPDX-License-Identifier: Apache-2.0
import { afterAll, beforeAll } from "vitest"
import { requestAuthentication } from "./suites/request-authentication.js"
import { MERLON, Mission } from "./support/mission.js"

let mission: Mission
beforeAll(async () => {
  mission = await Mission.start(MERLON)
})
afterAll(() => mission.stop())

requestAuthentication(() => mission)
