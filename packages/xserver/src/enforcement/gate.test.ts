// SPDX-License-Identifier: Apache-2.0
import { compile } from "@merlon/policy/authorization"
import { meshConfig } from "@merlon/policy/mesh"
import { parseIp } from "@merlon/policy/request"
import type { PolicyDocument } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import { Gate } from "./gate.js"

const workload = { namespace: "foo", name: "httpbin-1", labels: {} }
const closed: PolicyDocument = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "AuthorizationPolicy",
  metadata: { name: "closed", namespace: "foo" },
  spec: { action: "DENY", rules: [{}] },
}
const programOf = (...documents: PolicyDocument[]) => compile(documents, workload, meshConfig())

const address = parseIp("127.0.0.1")
if (address === undefined) throw new Error("no address")
const connection = { peer: undefined, sourceIp: address, destinationIp: address, destinationPort: 1, sni: undefined }
const request = { method: "GET", scheme: "http", host: "h", target: "/", headers: new Map() }

it("remembers which program denied, even after another one took effect", () => {
  const rejecting = programOf(closed)
  const gate = new Gate(rejecting)
  const http = gate.admit(connection, request)
  const tcp = gate.admitTcp(connection, false)
  gate.swap(programOf())
  expect(gate.deniedBy(http.judgement)).toBe(rejecting)
  expect(gate.deniedBy(tcp.judgement)).toBe(rejecting)
  const allowed = gate.admit(connection, request)
  expect([allowed.judgement.verdict, gate.deniedBy(allowed.judgement)]).toEqual(["allow", undefined])
})
