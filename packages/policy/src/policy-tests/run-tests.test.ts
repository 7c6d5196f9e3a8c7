// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { policy } from "../authorization/testing/requests.js"
import { meshConfig } from "../mesh/config.js"
import { runTests } from "./run-tests.js"
import { readTests } from "./test-file.js"

const mesh = meshConfig()
const NOW = 1_790_000_000
const head = "kind: PolicyTest\nworkloads: { web: { namespace: foo } }\n"
const allowGet = policy("get", { rules: [{ to: [{ operation: { methods: ["GET"] } }] }, {}] })

const run = (cases: string, documents = [allowGet]) => {
  const { files, errors } = readTests(`${head}cases:\n${cases}`)
  expect(errors.map(({ message }) => message)).toEqual([])
  const [file] = files
  if (file === undefined) throw new Error("no file")
  return runTests(file, documents, mesh, NOW)
}

describe("a case", () => {
  test.each([
    ["- { request: {}, expect: allow }", []],
    ["- { request: {}, expect: 200 }", []],
    ["- { request: {}, expect: deny }", ["expected verdict `deny`, got `allow`"]],
    ["- { request: {}, expect: refuse }", ["expected verdict `deny`, got `allow`"]],
    ["- { request: {}, expect: 403 }", ["expected verdict `deny`, got `allow`", "expected status `403`, got `0`"]],
    ['- { request: {}, expect: { rule: "get[0]" } }', []],
    ['- { request: {}, expect: { rule: "foo/get[0]", stage: allow } }', []],
    ['- { request: {}, expect: { rule: "bar/get[0]" } }', ["expected rule `bar/get[0]`, got `foo/get[0]`"]],
    ["- { request: {}, expect: { stage: deny } }", ["expected stage `deny`, got `allow`"]],
    ["- { request: { from: nobody }, expect: allow }", [expect.stringContaining("`nobody` is no identity")]],
    ["- { request: { ip: here }, expect: allow }", [expect.stringContaining("`here` is no address")]],
    ['- { request: { headers: { ":path": /a } }, expect: allow }', [expect.stringContaining("write `method`, `path`")]],
    ['- { request: { headers: { "a b": c } }, expect: allow }', [expect.stringContaining("no name of a header")]],
    ['- { request: { headers: { a: "b\\nc" } }, expect: allow }', [expect.stringContaining("control character")]],
    ["- { request: { headers: { host: [a, b] } }, expect: allow }", [expect.stringContaining("one `Host`")]],
    ["- { request: { host: a, headers: { host: b } }, expect: allow }", [expect.stringContaining("say it once")]],
  ])("%s: %j", (text, differences) => {
    expect(run(text).results[0]?.differences).toEqual(differences)
  })

  it.each([
    ["a header is sent as UTF-8", "headers: { x-user: Zoë }", "deny"],
    ["a path beyond ASCII is no path", "path: /ä", "400"],
    ["blanks around a value are no part of it", 'headers: { x-user: " Zoë\\t" }', "deny"],
    ["lines of a header are one header's, whatever their case", "headers: { X-User: Zoë, x-user: [a, b] }", "deny"],
    ["the host is what `Host` says", "headers: { Host: closed.example }", "deny"],
  ])("%s", (_, request, expected) => {
    const zoe = policy("zoe", {
      action: "DENY",
      rules: [
        { when: [{ key: "request.headers[x-user]", values: ["Zoë"] }] },
        { to: [{ operation: { hosts: ["closed.example"] } }] },
      ],
    })
    expect(run(`- { request: { ${request} }, expect: ${expected} }`, [zoe]).results[0]?.differences).toEqual([])
  })

  it("is named after its request if it has no name", () => {
    expect(run("- { request: { path: /a, from: cluster.local/ns/a/sa/b }, expect: allow }").results[0]?.test.name).toBe(
      "GET /a from cluster.local/ns/a/sa/b",
    )
  })

  it("is judged with the mesh's settings of its file", () => {
    const { files } = readTests(`${head}mesh: { pathNormalization: MERGE_SLASHES }
cases: [{ request: { path: //a }, expect: allow }]`)
    const [file] = files
    const only = policy("only", { rules: [{ to: [{ operation: { paths: ["/a"] } }] }] })
    expect(file && runTests(file, [only], mesh, NOW).results[0]?.passed).toBe(true)
  })
})

it("counts in how many cases a rule matched and decided", () => {
  const { coverage } = run("- { request: {}, expect: allow }\n- { request: { method: PUT }, expect: allow }")
  expect(coverage.map(({ rule, matched, decided }) => [rule.rule, matched, decided])).toEqual([
    [0, 1, 1],
    [1, 2, 1],
  ])
})

describe("a file is rejected", () => {
  test.each([
    ["cases: []", "there are no cases"],
    ["cases: [{ request: {}, expect: allowed }]", "what is expected is not said"],
    ["cases: [{ request: {} }]", "what is expected is not said"],
    ["cases: [{ request: { metod: GET }, expect: allow }]", "unknown field `metod`; did you mean `method`?"],
    ["cases: [{ request: { token: { claim: {} } }, expect: allow }]", "did you mean `claims`?"],
    ["cases: [{ request: { port: '80' }, expect: allow }]", "`port` must be a number"],
    ["cases: [{ request: { protocol: udp }, expect: allow }]", "unknown protocol `udp`"],
    ["cases: [{ request: {}, expect: { verdict: reject } }]", "unknown verdict `reject`"],
    ["cases: [{ to: shop, request: {}, expect: allow }]", "there is no workload `shop`"],
    ["test: []\ncases: [{ request: {}, expect: allow }]", "unknown field `test`"],
  ])("%s", (text, message) => {
    expect(readTests(head + text).errors.map(error => error.message)).toEqual([expect.stringContaining(message)])
  })

  it("with the line at which it is wrong", () => {
    const { errors } = readTests(`${head}cases:\n  - request: {}\n    expect: no\n`)
    expect(errors[0]?.position?.line).toBe(5)
  })
})

describe("an invariant", () => {
  const stated = (text: string, documents = [allowGet]) => {
    const { files, errors } = readTests(`${head}${text}`)
    expect(errors.map(({ message }) => message)).toEqual([])
    const [file] = files
    return (
      file &&
      runTests(file, documents, mesh, NOW).results.map(({ test, passed, differences }) => [
        test.name,
        passed,
        ...differences,
      ])
    )
  }
  const only = policy("only", { rules: [{ to: [{ operation: { methods: ["GET"], paths: ["/a*"] } }] }] })

  it("holds by proof", () => {
    const text = "never: [{ name: no PUT, to: [{ operation: { methods: [PUT] } }] }]"
    expect(stated(text, [only])).toEqual([["never: no PUT (foo/web)", true]])
  })

  it("is broken, with an example request", () => {
    const text = "always: [{ name: read, to: [{ operation: { methods: [GET] } }] }]"
    expect(stated(text, [only])).toEqual([
      ["always: read (foo/web)", false, expect.stringContaining("is denied, because no ALLOW rule matches it")],
    ])
  })

  it("is read as strictly as a PolicyInvariant, with the line at which it is wrong", () => {
    const { errors } = readTests(`${head}never:\n- name: x\n  too: []\n`)
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining("unknown field `too`")])
    expect(errors[0]?.position?.line).toBe(5)
  })
})
