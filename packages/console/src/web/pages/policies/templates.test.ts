// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { validate } from "@merlon/policy/resources"
import { expect, test } from "vitest"
import { parse } from "yaml"
import { fitted, TEMPLATES } from "./templates.js"

const names = meshNames()

test.each(TEMPLATES)("the beginning for “$title” is a policy that would be taken as it is", ({ text }) => {
  const { errors } = validate(parse(text({ ...names, answersGroup: "answers.merlon.dev" }, "corp.example")), names)
  expect(errors).toEqual([])
})

test("the beginning for one caller names an identity of this mesh", () => {
  const [text] = TEMPLATES.filter(({ id }) => id === "allow-one").map(template =>
    template.text({ ...names, answersGroup: "answers.merlon.dev" }, "corp.example"),
  )
  expect(text).toContain("principals: [corp.example/ns/default/sa/caller]")
})

test.each([
  ["the namespace that is chosen, with a label there", "shop", "namespace: shop\napp: cart"],
  ["a namespace that has workloads", undefined, "namespace: app\napp: web"],
  ["a namespace without workloads, with the example", "empty", "namespace: empty\napp: web"],
])("a template has %s", (_, namespace, expected) => {
  const pod = (where: string, app: string) => ({ metadata: { name: "a", namespace: where, labels: { app } } })
  const pods = [pod("shop", "cart"), pod("app", "api"), pod("app", "web")]
  expect(fitted("namespace: default\napp: web", pods, namespace)).toBe(expected)
})
