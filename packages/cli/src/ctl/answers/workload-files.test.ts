// SPDX-License-Identifier: Apache-2.0
// Authors of pull requests control the names in manifests, and terminals print them.

import { meshNames } from "@merlon/policy/mesh"
import { expect, it } from "vitest"
import { workloadsIn } from "./workload-files.js"

const ESCAPE = "\u001b[2J"
const pod = (metadata: object, spec: object = {}) => ({ kind: "Pod", metadata, spec })
const service = (name: string, app: string) => ({ kind: "Service", metadata: { name }, spec: { selector: { app } } })
const read = (...objects: readonly object[]) => workloadsIn(objects, meshNames(), "foo")

it.each([
  ["its name", [pod({ name: `a${ESCAPE}` })], "a Pod has the name `a^[[2J`, which is none"],
  ["its name, as a line of Markdown", [pod({ name: "a\n# b" })], "a Pod has the name `a\\u{a}# b`"],
  ["its namespace", [pod({ name: "a", namespace: `f${ESCAPE}` })], "a Pod has the namespace `f^[[2J`"],
  ["its account", [pod({ name: "a" }, { serviceAccountName: `s${ESCAPE}` })], "has the serviceAccount `s^[[2J`"],
  ["a label", [pod({ name: "a", labels: { app: `x${ESCAPE}` } })], "`a` has the label `app=x^[[2J`"],
  [
    "a Service that leads to it",
    [pod({ name: "a", labels: { app: "a" } }), service(`s${ESCAPE}`, "a")],
    "a Service has",
  ],
])("rejects a workload name that a terminal would interpret, by %s", (_, objects, received) => {
  expect(() => read(...objects)).toThrow(received)
})

it("reads a workload with valid names, whatever other objects there are", () => {
  const objects = [pod({ name: "a.b-1", labels: { app: "a" } }), service(`s${ESCAPE}`, "b"), service("a", "a"), {}]
  expect(read(...objects)).toMatchObject([
    { name: "a.b-1", namespace: "foo", serviceAccount: "default", host: "a.foo" },
  ])
})

it("reads UDP ports with the other ports", () => {
  const ports = [{ containerPort: 53, protocol: "UDP" }, { containerPort: 8080 }]
  expect(read(pod({ name: "dns" }, { containers: [{ name: "a", ports }] }))).toMatchObject([
    { ports: [8080], udpPorts: [53] },
  ])
})
