// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { authzenEndpoint, readEvaluations } from "./authzen.js"
import { denial, evaluationsReply, metadataReply, permission } from "./authzen-answer.js"

const CART = "spiffe://cluster.local/ns/shop/sa/cart"
const ASKED = {
  subject: { type: "workload", id: CART, properties: { ip_address: "192.0.2.1" } },
  action: { name: "GET" },
  resource: { type: "http", id: "/orders?id=1", properties: { host: "shop.example", scheme: "https" } },
  context: { headers: { "X-Role": "admin", accept: ["a", "b"], "x-name": "zoë" } },
}
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value))
const read = (value: unknown, endpoint: "evaluation" | "evaluations" = "evaluation") =>
  readEvaluations(bytes(value), endpoint)

describe("an evaluation request", () => {
  it("describes an HTTP request and its caller", () => {
    expect(read(ASKED)).toMatchObject({
      isBatch: false,
      items: [
        {
          method: "GET",
          target: "/orders?id=1",
          host: "shop.example",
          scheme: "https",
          peer: { uri: CART },
          address: { text: "192.0.2.1" },
          headers: new Map([
            ["x-role", ["admin"]],
            ["accept", ["a", "b"]],
            ["x-name", ["zo\u00c3\u00ab"]],
          ]),
          joined: new Set(["x-role", "x-name"]),
        },
      ],
    })
  })

  const { subject, action, resource } = ASKED
  it.each<[string, object]>([
    ["no subject", { subject: undefined }],
    ["a subject that is a list", { subject: [subject] }],
    ["a subject without an id", { subject: { type: "workload" } }],
    ["a subject of another type", { subject: { type: "user", id: "alice" } }],
    ["a subject without a type", { subject: { id: CART } }],
    ["a workload without a SPIFFE ID", { subject: { type: "workload", id: "cart" } }],
    ["an invalid address", { subject: { ...subject, properties: { ip_address: "here" } } }],
    ["an address that is a number", { subject: { ...subject, properties: { ip_address: 1 } } }],
    ["properties of a subject that are a list", { subject: { ...subject, properties: [] } }],
    ["no action", { action: undefined }],
    ["an action without a name", { action: {} }],
    ["an action with two methods", { action: { name: "can_read", properties: { method: "DELETE" } } }],
    ["no resource", { resource: null }],
    ["a resource of another type", { resource: { ...resource, type: "account" } }],
    ["a resource without an id", { resource: { ...resource, id: undefined } }],
    ["a path beyond ASCII", { resource: { ...resource, id: "/zoë" } }],
    ["no host", { resource: { ...resource, properties: {} } }],
    ["a host that is a list", { resource: { ...resource, properties: { host: ["shop.example"] } } }],
    ["a scheme that is null", { resource: { ...resource, properties: { host: "shop.example", scheme: null } } }],
    ["a context that is a string", { context: "headers" }],
    ["headers that are a list", { context: { headers: [["x-role", "admin"]] } }],
    ["a header that is a number", { context: { headers: { "x-role": 1 } } }],
    ["a header without lines", { context: { headers: { "x-role": [] } } }],
    ["a header with a line break", { context: { headers: { "x-role": "a\r\nhost: b" } } }],
    ["a header with a control character", { context: { headers: { "x-role": "a\u0001" } } }],
    ["a pseudo-header", { context: { headers: { ":path": "/" } } }],
    ["one header in two spellings", { context: { headers: { "x-role": "a", "X-Role": "b" } } }],
    ["another host in its headers", { context: { headers: { Host: "other.example" } } }],
    ["evaluations", { evaluations: [{}] }],
  ])("with %s is malformed", (_, more) => {
    expect(read({ ...ASKED, ...more })).toEqual({ malformed: expect.any(String) })
  })

  it("has header values without outer blanks, as on the wire", () => {
    expect(read({ ...ASKED, context: { headers: { "x-role": [" \tguest\t "] } } })).toMatchObject({
      items: [{ headers: new Map([["x-role", ["guest"]]]) }],
    })
  })

  it("with a name twice is malformed", () => {
    const text = JSON.stringify(ASKED)
    const other = (name: string) => `"${name}":"/public"`
    for (const twice of [
      text.replace('"id":"/orders', `${other("id")},"id":"/orders`),
      text.replace('"id":"/orders', `${other("\\u0069d")},"id":"/orders`),
      text.replace('"X-Role":', `${other("X-Role")},"X-Role":`),
    ]) {
      expect(twice).not.toBe(text)
      expect(readEvaluations(Buffer.from(twice), "evaluation")).toEqual({ malformed: expect.any(String) })
    }
  })

  it.each(["", "null", "[]", '"a"', "{", "\u00ff", `{"a":${"[".repeat(40)}${"]".repeat(40)}}`])(
    "of %j is malformed",
    text => {
      expect(readEvaluations(Buffer.from(text, "latin1"), "evaluation")).toEqual({ malformed: expect.any(String) })
    },
  )

  it("of any content never throws and never yields an incomplete request", () => {
    const any = fc.oneof(fc.json(), fc.constantFrom(null, "http", CART, {}, []))
    const part = (whole: object) =>
      fc.oneof(any, fc.record({ type: any, id: any, name: any, properties: any }), fc.constant(whole))
    const message = fc.record({ subject: part(subject), action: part(action), resource: part(resource), context: any })
    fc.assert(
      fc.property(message, fc.constantFrom("evaluation", "evaluations"), (asked, endpoint) => {
        const found = read(asked, endpoint)
        if ("malformed" in found) return
        expect(found.items).toMatchObject([
          { method: expect.any(String), target: expect.any(String), host: "shop.example" },
        ])
      }),
    )
  })
})

describe("a batch", () => {
  it("fills missing fields of an item from the top level", () => {
    const other = { type: "http", id: "/other", properties: { host: "shop.example" } }
    const found = read({ ...ASKED, evaluations: [{}, { resource: other }, { subject: null }, "a"] }, "evaluations")
    expect(found).toMatchObject({
      isBatch: true,
      stopAt: undefined,
      items: [
        { target: "/orders?id=1" },
        { target: "/other", peer: { uri: CART } },
        { malformed: expect.any(String) },
        { malformed: expect.any(String) },
      ],
    })
  })

  it("without items is a single evaluation", () => {
    expect(read(ASKED, "evaluations")).toMatchObject({ isBatch: false })
    expect(read({ ...ASKED, evaluations: [] }, "evaluations")).toMatchObject({ isBatch: false })
  })

  it.each([
    ["execute_all", undefined],
    ["deny_on_first_deny", false],
    ["permit_on_first_permit", true],
  ])("stops as %s requires", (semantic, stopAt) => {
    const options = { evaluations_semantic: semantic }
    expect(read({ ...ASKED, options, evaluations: [{}] }, "evaluations")).toMatchObject({ stopAt })
  })

  it.each<[string, object]>([
    ["an unknown semantic", { options: { evaluations_semantic: "permit_all" } }],
    ["options that are a list", { options: [] }],
    ["evaluations that are an object", { evaluations: {} }],
    ["more items than one message may have", { evaluations: Array.from({ length: 101 }, () => ({})) }],
  ])("with %s is malformed", (_, more) => {
    expect(read({ ...ASKED, evaluations: [{}], ...more }, "evaluations")).toEqual({ malformed: expect.any(String) })
  })
})

describe("an answer", () => {
  it("is ASCII, whatever its headers contain", () => {
    const changes = {
      setHeaders: [["x-user", "zo\u00c3\u00ab"]] as const,
      removeHeaders: ["a"],
      removeParameters: [],
      forged: [],
    }
    const { body, contentType } = evaluationsReply([permission(changes)], false)
    expect(body).toBe(
      '{"decision":true,"context":{"set_headers":[{"name":"x-user","value":"zo\\u00eb"}],"remove_headers":["a"]}}',
    )
    expect(contentType).toBe("application/json")
  })

  it("contains only the decision if nothing has to change", () => {
    const none = permission({ setHeaders: [], removeHeaders: [], removeParameters: [], forged: [] })
    const no = denial({ status: 403, body: "no", fields: [["a", "b"]] })
    expect(JSON.parse(evaluationsReply([none, no], true).body)).toEqual({
      evaluations: [
        { decision: true },
        { decision: false, context: { status: 403, reason: "no", headers: [{ name: "a", value: "b" }] } },
      ],
    })
  })
})

it("has the endpoints of the standard", () => {
  const paths = ["evaluation", "evaluations", "search/subject", "search/resource", "search/action", "search"]
  expect(paths.map(path => authzenEndpoint(`/access/v1/${path}`))).toEqual([
    "evaluation",
    "evaluations",
    "subject-search",
    "resource-search",
    "action-search",
    undefined,
  ])
  expect(JSON.parse(metadataReply("https://pdp.example").body)).toEqual({
    policy_decision_point: "https://pdp.example",
    access_evaluation_endpoint: "https://pdp.example/access/v1/evaluation",
    access_evaluations_endpoint: "https://pdp.example/access/v1/evaluations",
    search_subject_endpoint: "https://pdp.example/access/v1/search/subject",
    search_resource_endpoint: "https://pdp.example/access/v1/search/resource",
    search_action_endpoint: "https://pdp.example/access/v1/search/action",
  })
})
