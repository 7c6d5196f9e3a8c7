// SPDX-License-Identifier: Apache-2.0
// The mission, heading by heading, on one mesh: each suite restores its state.

import { describe } from "vitest"
import type { Mission } from "../support/mission.js"
import { admission } from "./admission.js"
import { authorization } from "./authorization.js"
import { injection } from "./injection.js"
import { meshService } from "./mesh-service.js"
import { peerAuthentication } from "./peer-authentication.js"
import { requestAuthentication } from "./request-authentication.js"

export function allOf(mission: () => Mission): void {
  describe.each([
    ["request authentication", requestAuthentication],
    ["authorization", authorization],
    ["admission", admission],
    ["peer authentication", peerAuthentication],
    ["mesh service", meshService],
    ["injection", injection],
  ])("%s", (_, suite) => suite(mission))
}
