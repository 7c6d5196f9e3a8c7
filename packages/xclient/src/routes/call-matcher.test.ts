// SPDX-License-Identifier: Apache-2.0
import type { RouteMatch } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import type { Call } from "./call.js"
import { callMatcher } from "./call-matcher.js"

const CALL: Call = {
  method: "GET",
  host: "web.app",
  target: "/shop/cart?user=ann&user=bob&empty=&x=a%20b",
  headers: new Map([
    ["x-team", "blue"],
    ["x-user", Buffer.from("Zoë").toString("latin1")],
  ]),
}

it.each<[string, readonly RouteMatch[], boolean]>([
  ["every call without alternatives", [], true],
  ["every call with an alternative without fields", [{}], true],
  ["the path without the query", [{ uri: { exact: "/shop/cart" } }], true],
  ["not the path with the query", [{ uri: { exact: "/shop/cart?user=ann" } }], false],
  ["the beginning of the path", [{ uri: { prefix: "/shop" } }], true],
  ["an expression for the whole path", [{ uri: { regex: "/[a-z]+/cart" } }], true],
  ["no expression for a part of it", [{ uri: { regex: "/[a-z]+" } }], false],
  ["the method", [{ method: { exact: "GET" } }], true],
  ["not another method", [{ method: { exact: "POST" } }], false],
  ["the host as the caller named it", [{ host: { exact: "web.app" } }], true],
  ["not the full host name", [{ host: { prefix: "web.app.svc" } }], false],
  ["a header, whatever its case", [{ headers: { "X-Team": { exact: "blue" } } }], true],
  ["no missing header, even for every value", [{ headers: { "x-other": { regex: ".*" } } }], false],
  ["a non-ASCII header", [{ headers: { "x-user": { exact: "Zoë" } } }], true],
  ["a non-ASCII header, character by character", [{ headers: { "x-user": { regex: "Zo." } } }], true],
  ["the method as a header", [{ headers: { ":method": { exact: "GET" } } }], true],
  ["the target as a header", [{ headers: { ":path": { prefix: "/shop/cart?user" } } }], true],
  ["the host as a header", [{ headers: { ":authority": { exact: "web.app" } } }], true],
  ["not another host as a header", [{ headers: { ":authority": { exact: "other" } } }], false],
  ["any of a parameter's values", [{ queryParams: { user: { exact: "bob" } } }], true],
  ["a parameter without a value", [{ queryParams: { empty: { exact: "" } } }], true],
  ["a decoded parameter", [{ queryParams: { x: { exact: "a b" } } }], true],
  ["no missing parameter", [{ queryParams: { none: { prefix: "" } } }], false],
  ["the called port", [{ port: 80 }], true],
  ["not another port", [{ port: 81 }], false],
  ["all fields of an alternative", [{ method: { exact: "GET" }, uri: { prefix: "/other" } }], false],
  ["any of the alternatives", [{ method: { exact: "POST" } }, { uri: { prefix: "/shop" } }], true],
  ["nothing with an empty pattern", [{ uri: {} }], false],
])("matches %s", (_, match, expected) => {
  expect(callMatcher(match, 80)(CALL)).toBe(expected)
})
