// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { validate } from "@merlon/policy/resources"
import { expect, test } from "vitest"
import { parse } from "yaml"
import { fitted, TEMPLATES } from "./templates.js"

const names = meshNames()

test.each(TEMPLATES)("template “$title” is a valid policy", ({ text }) => {
  const { errors } = validate(parse(text({ ...names, answersGroup: "answers.merlon.dev" }, "corp.example")), names)
  expect(errors).toEqual([])
})

test("the template for one caller contains an identity of this mesh", () => {
  const [text] = TEMPLATES.filter(({ id }) => id === "allow-one").map(template =>
    template.text({ ...names, answersGroup: "answers.merlon.dev" }, "corp.example"),
  )
  expect(text).toContain("principals:\n              - corp.example/ns/default/sa/caller")
})

test("fills in the ports of a workload and the identity of another one, from the same namespace if possible", () => {
  const pod = (namespace: string, name: string, ...ports: readonly number[]) => ({
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      serviceAccountName: name,
      containers: [{ name, ports: ports.map(containerPort => ({ containerPort })) }],
    },
  })
  const text = 'ports: ["8080"] principals: [d/ns/default/sa/caller]'
  const all = [pod("app", "web", 80), pod("shop", "cart", 9090, 53, 9090), pod("shop", "payment")]
  expect(fitted(text, all, "shop")).toBe('ports: ["9090", "53"] principals: [d/ns/shop/sa/payment]')
  expect(fitted(text, all, "app")).toBe('ports: ["80"] principals: [d/ns/shop/sa/cart]')
  expect(fitted(text, all, "empty")).toBe(text)
  expect(fitted(text, [pod("app", "web")], "app")).toBe(text)
})

test.each([
  ["the chosen namespace and a label of it", "shop", "namespace: shop\napp: cart"],
  ["a namespace that has workloads", undefined, "namespace: app\napp: web"],
  ["a namespace without workloads and the example label", "empty", "namespace: empty\napp: web"],
])("fills in %s", (_, namespace, expected) => {
  const pod = (where: string, app: string) => ({ metadata: { name: "a", namespace: where, labels: { app } } })
  const pods = [pod("shop", "cart"), pod("app", "api"), pod("app", "web")]
  expect(fitted("namespace: default\napp: web", pods, namespace)).toBe(expected)
})
