// SPDX-License-Identifier: Apache-2.0
import type { HttpRequest } from "@merlon/policy/authorization"
import fc from "fast-check"
import { expect, it } from "vitest"
import { unjoined } from "./joined-lines.js"

function requestWith(headers: Readonly<Record<string, readonly string[]>>): HttpRequest {
  return { method: "GET", scheme: "http", host: "web", target: "/", headers: { get: name => headers[name] } }
}
const readings = (headers: Readonly<Record<string, readonly string[]>>, names = Object.keys(headers)) =>
  unjoined(requestWith(headers), names)?.map(({ headers }) => names.map(name => headers.get(name)))

it.each([
  ["no comma", { a: ["x"] }, [[["x"]]]],
  ["one comma", { a: ["x,y"] }, [[["x,y"]], [["x", "y"]]]],
  ["a blank after the comma", { a: ["x, y"] }, [[["x, y"]], [["x", "y"]]]],
  ["two commas", { a: ["x,y,z"] }, [[["x,y,z"]], [["x,y", "z"]], [["x", "y,z"]], [["x", "y", "z"]]]],
  ["two lines", { a: ["w", "x,y"] }, [[["w", "x,y"]], [["w", "x", "y"]]]],
  [
    "two headers",
    { a: ["x,y"], b: ["z,"] },
    [
      [["x,y"], ["z,"]],
      [["x,y"], ["z", ""]],
      [["x", "y"], ["z,"]],
      [
        ["x", "y"],
        ["z", ""],
      ],
    ],
  ],
  ["six commas in two headers", { a: ["1,2,3,4"], b: ["1,2,3,4"] }, 64],
  ["seven commas", { a: ["1,2,3,4,5,6,7,8"] }, undefined],
  ["seven commas in two headers", { a: ["1,2,3,4,5"], b: ["1,2,3,4"] }, undefined],
  ["a million commas", { a: [",".repeat(1_000_000)] }, undefined],
] as const)("reads %s in every way", (_, headers, expected) => {
  const found = readings(headers)
  expect(typeof expected === "number" ? found?.length : found).toEqual(expected)
})

it("keeps headers that no rule reads", () => {
  const [request] = unjoined(requestWith({ a: ["x,y"], b: ["z"] }), ["b"]) ?? []
  expect(request?.headers.get("a")).toEqual(["x,y"])
})

it("includes every list of lines among the readings of the joined value", () => {
  const value = fc.stringMatching(/^[a-c]?(,[a-c]?){0,2}$/)
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 2 }), lines => {
      expect(readings({ a: [lines.join(",")] })).toContainEqual([lines])
    }),
  )
})
