// SPDX-License-Identifier: Apache-2.0
import { describe, it } from "vitest"
import { expectClean, expectError, expectWarning, judge, type Rejection } from "../testing/documents.js"

const KIND = "PeerAuthentication"
const selector = { matchLabels: { app: "web" } }

describe("a PeerAuthentication is rejected", () => {
  const rejections: readonly Rejection[] = [
    [
      "an unknown mode",
      { mtls: { mode: "STRIC" } },
      "spec.mtls.mode",
      "unsupported value `STRIC`; did you mean `STRICT`?",
    ],
    ["a lower-case mode", { mtls: { mode: "strict" } }, "spec.mtls.mode", "did you mean `STRICT`?"],
    ["a mode in the wrong place", { mode: "STRICT" }, "spec.mode", "`mode` belongs to `spec.mtls`"],
    [
      "an unknown port mode",
      { selector, portLevelMtls: { 80: { mode: "X" } } },
      "spec.portLevelMtls[80].mode",
      "use `UNSET`, `DISABLE`, `PERMISSIVE` or `STRICT`",
    ],
    [
      "port modes without selector",
      { portLevelMtls: { 80: { mode: "STRICT" } } },
      "spec.portLevelMtls",
      "mesh/namespace peer authentication cannot have port level mTLS: portLevelMtls requires selector",
    ],
    [
      "port modes with an empty selector",
      { selector: { matchLabels: {} }, portLevelMtls: { 80: {} } },
      "spec.portLevelMtls",
      "portLevelMtls requires selector",
    ],
    [
      "no port modes",
      { selector, portLevelMtls: {} },
      "spec.portLevelMtls",
      "port level mTLS, if defined, must have at least one element",
    ],
    ["port 0", { selector, portLevelMtls: { 0: {} } }, "spec.portLevelMtls[0]", "port must be in range 1..65535"],
    [
      "port 65536",
      { selector, portLevelMtls: { 65536: {} } },
      "spec.portLevelMtls[65536]",
      "port must be in range 1..65535",
    ],
    ["a named port", { selector, portLevelMtls: { http: {} } }, "spec.portLevelMtls.http", "found `http`"],
    [
      "a wildcard value",
      { selector: { matchLabels: { app: "w*" } } },
      "spec.selector.matchLabels.app",
      'wildcard is not supported in selector: "app=w*"',
    ],
    [
      "a wildcard key",
      { selector: { matchLabels: { "a*": "w" } } },
      "spec.selector.matchLabels[a*]",
      'wildcard is not supported in selector: "a*=w"',
    ],
    [
      "an empty key",
      { selector: { matchLabels: { "": "v" } } },
      "spec.selector.matchLabels[]",
      'empty key is not supported in selector: "=v"',
    ],
    [
      "a long value",
      { selector: { matchLabels: { a: "v".repeat(64) } } },
      "spec.selector.matchLabels.a",
      "may not have more than 63 characters",
    ],
    [
      "a number as value",
      { selector: { matchLabels: { version: 1 } } },
      "spec.selector.matchLabels.version",
      'put it in quotes: `"1"`',
    ],
  ]
  it.each(rejections)("with %s", (_, spec, path, message) => {
    expectError(judge(KIND, spec), path, message)
  })
})

describe("a PeerAuthentication is accepted", () => {
  it.each([
    ["with nothing", {}],
    ["with a mode", { mtls: { mode: "STRICT" } }],
    ["with an empty mode", { mtls: {} }],
    ["with port modes", { selector, mtls: { mode: "UNSET" }, portLevelMtls: { 8080: { mode: "DISABLE" }, 65535: {} } }],
    ["in shadow", { enforcement: "Shadow", mtls: { mode: "STRICT" } }],
  ])("%s", (_, spec) => {
    expectClean(judge(KIND, spec))
  })

  it("with a warning if its scope has no effect", () => {
    expectWarning(
      judge(KIND, { selector }, { namespace: "merlon-system" }),
      "spec.selector",
      "has no effect in the root namespace `merlon-system`",
    )
  })
})
