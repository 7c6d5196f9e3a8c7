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
  describe("request authentication", () => requestAuthentication(mission))
  describe("authorization", () => authorization(mission))
  dependingOnNames(mission)
}

/** Suites whose results depend on the mesh's name and domain: labels, root namespace, API groups, hosts. */
export function dependingOnNames(mission: () => Mission): void {
  describe("admission", () => admission(mission))
  describe("peer authentication", () => peerAuthentication(mission))
  describe("mesh service", () => meshService(mission))
  describe("injection", () => injection(mission))
}
