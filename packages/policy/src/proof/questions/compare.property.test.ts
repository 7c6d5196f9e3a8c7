// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { PATH_NORMALIZATIONS } from "../../mesh/config.js"
import { compile, decide } from "../../program.js"
import { anyIssuer, mesh as ours, pairs, possibleIn, workload } from "../testing/sets.js"
import { assertUntilSeen } from "../testing/until-seen.js"
import { compareSets } from "./compare.js"

const LIMITS = { steps: 300_000 }

const meshes = fc
  .record({ dialect: fc.constantFrom(undefined, "istio" as const), mode: fc.constantFrom(...PATH_NORMALIZATIONS) })
  .map(({ dialect, mode }) => ({ ...ours, pathNormalization: mode, ...(dialect && { dialect }) }))

it("never reports sets as equal that decide some request differently", { timeout: 180_000 * inject("effort") }, () => {
  const seen = { equal: 0, different: 0, undecided: 0 }
  const property = fc.property(
    pairs,
    meshes.chain(mesh => fc.tuple(fc.constant(mesh), fc.array(possibleIn(mesh), { minLength: 20, maxLength: 20 }))),
    ([old, young], [mesh, requests]) => {
      const [before, after] = [
        [anyIssuer, ...old],
        [anyIssuer, ...young],
      ]
      // Requests to undeclared ports are generated too.
      const declared = mesh.dialect === "istio" ? { ...workload, ports: [8080] } : workload
      const { result } = compareSets(before, after, declared, mesh, { limits: LIMITS, now: 1_000 })
      seen[result]++
      const [was, is] = [compile(before, workload, mesh), compile(after, workload, mesh)]
      for (const request of requests) {
        if (decide(was, request).verdict !== decide(is, request).verdict) expect(result).not.toBe("equal")
      }
    },
  )
  assertUntilSeen(property, { numRuns: 40 * inject("effort") }, seen, "equal", "different")
})
