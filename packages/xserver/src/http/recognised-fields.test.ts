// SPDX-License-Identifier: Apache-2.0
import { PROXY_HEADERS } from "@merlon/policy/request"
import { RECOGNISED_FIELDS } from "@merlon/wire"
import { expect, it } from "vitest"

it("recognises by name the headers that the evaluator protects", () => {
  expect(Object.keys(RECOGNISED_FIELDS).sort()).toEqual([...PROXY_HEADERS].sort())
})
