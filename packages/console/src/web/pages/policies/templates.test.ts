// SPDX-License-Identifier: Apache-2.0
import { meshNames, validate } from "@merlon/policy"
import { expect, test } from "vitest"
import { parse } from "yaml"
import { TEMPLATES } from "./templates.js"

const names = meshNames()

test.each(TEMPLATES)("the beginning for “$wish” is a policy that would be taken as it is", ({ text }) => {
  const { faults } = validate(parse(text({ ...names, answersGroup: "answers.merlon.dev" })), names)
  expect(faults).toEqual([])
})
