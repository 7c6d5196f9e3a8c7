// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { ip, mesh, policy, workload } from "./authorization/testing/requests.js"
import { judge } from "./judge.js"
import { compile } from "./program.js"
import type { DenyResponse } from "./resources/deny-response.js"
import type { AuthorizationPolicy, PolicyDocument, RequestAuthentication } from "./resources/document.js"

const STANDARD = { status: 403, body: "RBAC: access denied" }
const page = (status: number): DenyResponse => ({
  status,
  body: "<p>no</p>",
  headers: [
    { name: "Content-Type", value: "text/html" },
    { name: "X-Help", value: "https://help.example" },
  ],
})
const written = (status: number) => ({
  status,
  body: "<p>no</p>",
  contentType: "text/html",
  headers: [["x-help", "https://help.example"]],
})

const deny = (name: string, path: string, denyResponse?: DenyResponse): AuthorizationPolicy =>
  policy(name, {
    action: "DENY",
    rules: [{ to: [{ operation: { paths: [path] } }] }],
    ...(denyResponse && { denyResponse }),
  })
const allow = (name: string, denyResponse?: DenyResponse, more: object = {}): AuthorizationPolicy =>
  policy(name, {
    rules: [{ to: [{ operation: { paths: ["/open"] } }] }],
    ...(denyResponse && { denyResponse }),
    ...more,
  })
const tokens = (denyResponse?: DenyResponse): RequestAuthentication => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "RequestAuthentication",
  metadata: { name: "tokens", namespace: "foo" },
  spec: { jwtRules: [{ issuer: "https://issuer.example" }], ...(denyResponse && { denyResponse }) },
})

function replyTo(documents: readonly PolicyDocument[], target: string, token?: string) {
  const judgement = judge(
    compile(documents, workload, mesh),
    {
      peer: undefined,
      sourceIp: ip("10.0.0.9"),
      destinationIp: ip("10.0.0.1"),
      destinationPort: 8080,
      sni: undefined,
    },
    {
      method: "GET",
      scheme: "http",
      host: "httpbin.foo:8000",
      target,
      headers: new Map(token === undefined ? [] : [["authorization", [`Bearer ${token}`]]]),
    },
    0,
  )
  return "reply" in judgement ? judgement.reply : undefined
}

test.each<[string, readonly PolicyDocument[], string, object | undefined]>([
  ["the standard one", [deny("a", "/a")], "/a", STANDARD],
  ["that of the DENY policy", [deny("a", "/a", page(404)), deny("b", "/b", page(410))], "/b", written(410)],
  ["not that of another DENY policy", [deny("a", "/a", page(404)), deny("b", "/b")], "/b", STANDARD],
  ["that of an ALLOW policy that allows nothing here", [allow("a"), allow("b", page(404))], "/b", written(404)],
  ["that of the oldest ALLOW policy", [allow("b", page(410)), allow("a", page(404))], "/b", written(404)],
  ["not that of an ALLOW policy, for a DENY", [allow("a", page(404)), deny("d", "/b")], "/b", STANDARD],
  ["not that of a DENY policy, for a miss", [allow("a"), deny("d", "/a", page(404))], "/b", STANDARD],
  [
    "not that of a policy in shadow mode",
    [allow("a", page(404), { enforcement: "Shadow" }), allow("b", page(410))],
    "/b",
    written(410),
  ],
  ["nothing to an allowed request", [allow("a", page(404))], "/open", undefined],
  ["the standard status and text where it has others alone", [deny("a", "/a", { headers: [] })], "/a", STANDARD],
])("a denied request gets %s", (_, documents, target, expected) => {
  const reply = replyTo(documents, target)
  if (expected === undefined) expect(reply).toBeUndefined()
  else expect(reply).toMatchObject(expected)
})

describe("a rejected token", () => {
  it("gets the response of the RequestAuthentication, without a challenge under another status", () => {
    expect(replyTo([tokens(page(302))], "/a", "x.y.z")).toEqual({ ...written(302), challenge: undefined })
  })
  it("keeps the challenge of a 401", () => {
    const reply = replyTo([tokens({ body: "sign in", headers: [] })], "/a", "x.y.z")
    expect(reply).toMatchObject({ status: 401, body: "sign in" })
    expect(reply?.challenge).toContain('Bearer realm="http://httpbin.foo:8000/a"')
  })
  it("does not get that of an AuthorizationPolicy", () => {
    expect(replyTo([tokens(), allow("a", page(404))], "/a", "x.y.z")?.status).toBe(401)
  })
})

it("repeats nothing of a request", () => {
  const documents = [allow("a", page(404)), tokens(page(400))]
  const replies = ["/b", "/c?<script>"].map(target => replyTo(documents, target))
  expect(replies[0]).toEqual(replies[1])
  const rejected = ["/b", "/c?<script>"].map(target => replyTo(documents, target, "x.y.z"))
  expect(rejected[0]).toEqual(rejected[1])
})
