// SPDX-License-Identifier: Apache-2.0
import { meshConfig } from "@merlon/policy/mesh"
import { readDocuments } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import { findingsOf } from "./findings.js"

const mesh = meshConfig()
const ODD = `apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: { name: odd, namespace: foo }
spec:
  action: DENY
  rules:
  - to: [{ operation: { methods: [get, GET], paths: [/ä*, /1*], ports: ["80"] } }]
  - to: [{ operation: { methods: [PUT] } }]
`

it("reports warnings of the API once, at their line", () => {
  const placed = readDocuments(ODD, mesh.names).flatMap(read =>
    read.document === undefined
      ? []
      : [
          {
            document: read.document,
            source: "odd.yaml",
            locate: (path: readonly (string | number)[]) => read.locate(path),
          },
        ],
  )
  const found = findingsOf(placed, [], mesh, { steps: 1_000 })
  expect(found.map(({ code, severity, line, path }) => `${severity} ${code} ${line} ${path}`)).toEqual([
    "warning lower-case-method 7 spec.rules[0].to[0].operation.methods[0]",
    "warning never-matches 7 spec.rules[0].to[0].operation.paths[0]",
    "warning deny-widens-on-tcp 8 spec.rules[1]",
  ])
})
