// SPDX-License-Identifier: Apache-2.0
// Changes of token rules in Istio policies that the proof decides, including requests with two tokens.

import { expect, it } from "vitest"
import { meshConfig } from "../../mesh/config.js"
import type { Rule } from "../../resources/authorization-policy/definition.js"
import type { JwtRule } from "../../resources/request-authentication/definition.js"
import { workload } from "../testing/sets.js"
import { authentication, authorization, NOW } from "../testing/token-sets.js"
import { compareSets } from "./compare.js"

const mesh = meshConfig({ dialect: "istio" })
const rule = (issuer: string, more: Partial<JwtRule> = {}): JwtRule => ({
  issuer,
  jwksUri: `https://${issuer}`,
  ...more,
})
const caller: Rule = { from: [{ source: { requestPrincipals: ["i/*"] } }] }
const reads = (name: string): Rule => ({ when: [{ key: `request.headers[${name}]`, values: ["*"] }] })
const forward = { forwardOriginalToken: true }
const output = { outputPayloadToHeader: "x-out" }
const X = { fromHeaders: [{ name: "x-token" }] }

const cases: readonly (readonly [string, readonly JwtRule[], readonly JwtRule[], Rule, "equal" | "different"])[] = [
  ["a token is forwarded, which no rule reads", [rule("i")], [rule("i", forward)], caller, "equal"],
  ["a token is forwarded, which a rule reads", [rule("i")], [rule("i", forward)], reads("authorization"), "different"],
  ["a payload is written, which no rule reads", [rule("i")], [rule("i", output)], caller, "equal"],
  ["a payload is written, which a rule reads", [rule("i")], [rule("i", output)], reads("x-out"), "different"],
  ["rules change places", [rule("i"), rule("j")], [rule("j"), rule("i")], caller, "equal"],
  ["an issuer is added", [rule("i")], [rule("i"), rule("j")], caller, "different"],
  ["another place is looked at", [rule("i"), rule("j")], [rule("i"), rule("j", X)], caller, "different"],
]

it.each(cases)("decides what changes where %s", (_, before, after, denied, expected) => {
  const set = (rules: readonly JwtRule[]) => [authentication(rules), authorization("DENY", [denied])]
  const { result, undecided } = compareSets(set(before), set(after), workload, mesh, { now: NOW })
  expect({ result, undecided }).toEqual({ result: expected, undecided: undefined })
})
