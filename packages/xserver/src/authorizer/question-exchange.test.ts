// SPDX-License-Identifier: Apache-2.0
// AuthZEN over real sockets: what is allowed, what is denied, and what is recorded.

import { once } from "node:events"
import { connect } from "node:http2"
import { Deadlines } from "@merlon/wire/http"
import * as messages from "@merlon/xds/authz"
import { afterEach, describe, expect, it } from "vitest"
import { authorization, type Rig, startRig } from "../accept/testing/rig.js"
import type { GatewayTrust } from "./gateway-trust.js"
import { questionHandlers } from "./handlers.js"

const CART = "spiffe://cluster.local/ns/shop/sa/cart"
const TRUST: GatewayTrust = { gateways: ["127.0.0.1"], authzen: true }
const rigs: Rig[] = []
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.stop()
})

const POLICIES = [
  authorization("allowed", {
    rules: [
      { to: [{ operation: { paths: ["/public/*"], hosts: ["shop.example"] } }] },
      {
        from: [{ source: { principals: ["cluster.local/ns/shop/sa/cart"] } }],
        to: [{ operation: { paths: ["/cart"] } }],
      },
      { from: [{ source: { ipBlocks: ["192.0.2.0/24"] } }], to: [{ operation: { paths: ["/office"] } }] },
    ],
  }),
]

async function start(trust = TRUST, policies = POLICIES): Promise<Rig> {
  const rig = await startRig({
    policies,
    handlers: ({ parts }) =>
      questionHandlers(trust, { ...parts, deadlines: new Deadlines(parts.limits) }, messages).handlers,
  })
  rigs.push(rig)
  return rig
}

describe("AuthZEN", () => {
  const ANONYMOUS = { type: "anonymous", id: "" }
  const evaluation = (path: string, more: object = {}) => ({
    subject: ANONYMOUS,
    action: { name: "GET" },
    resource: { type: "http", id: path, properties: { host: "shop.example" } },
    ...more,
  })
  const workload = (address?: string) => ({
    type: "workload",
    id: CART,
    ...(address !== undefined && { properties: { ip_address: address } }),
  })
  const JSON_HEADERS = { "content-type": "application/json" }
  const call = async (rig: Rig, path: string, body?: unknown, headers: Record<string, string> = JSON_HEADERS) => {
    const content = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) }
    const response = await fetch(`http://127.0.0.1:${rig.port}${path}`, content)
    const text = await response.text()
    const isJson = response.headers.get("content-type") === "application/json"
    return { status: response.status, answer: isJson ? JSON.parse(text) : text, headers: response.headers }
  }
  const decision = async (rig: Rig, asked: object) => {
    const { status, answer } = await call(rig, "/access/v1/evaluation", asked)
    return status === 200 ? answer.decision : status
  }

  it("is decided by the policies, with the id of the decision", async () => {
    const rig = await start(TRUST)
    expect((await call(rig, "/access/v1/evaluation", evaluation("/public/a"))).answer).toEqual({ decision: true })
    const { status, answer, headers } = await call(rig, "/access/v1/evaluation", evaluation("/private"), {
      ...JSON_HEADERS,
      "x-request-id": "r-1",
    })
    expect([status, headers.get("x-request-id")]).toEqual([200, "r-1"])
    const id = { name: "x-merlon-decision", value: expect.stringMatching(/^[0-9a-f]{20}$/) }
    expect(answer).toEqual({
      decision: false,
      context: { status: 403, reason: "RBAC: access denied", headers: [id] },
    })
    await rig.meters.until(({ records }) => records.length === 2)
    expect(rig.meters.records).toMatchObject([
      { path: "/public/a", host: "shop.example", status: 200, judgement: { verdict: "allow" } },
      { path: "/private", status: 403, requestId: "r-1", decisionId: answer.context.headers[0].value },
    ])
  })

  it("is denied unless it is switched on", async () => {
    const rig = await start({ ...TRUST, authzen: undefined })
    expect((await call(rig, "/access/v1/evaluation", evaluation("/public/a"))).status).toBe(403)
    expect((await call(rig, "/.well-known/authzen-configuration")).status).toBe(403)
    await rig.meters.until(({ records }) => records.length === 2)
    expect(rig.meters.records[0]?.judgement).toMatchObject({ stage: "protocol", error: "no-authzen" })
  })

  it("is denied to a caller that is not a gateway", async () => {
    const rig = await start({ ...TRUST, gateways: ["192.0.2.0/24"] })
    expect((await call(rig, "/access/v1/evaluation", evaluation("/public/a"))).status).toBe(403)
    expect((await call(rig, "/.well-known/authzen-configuration")).status).toBe(403)
  })

  it("ignores subject and address unless they are trusted", async () => {
    const rig = await start(TRUST)
    const asked = evaluation("/public/a", { subject: workload("192.0.2.1") })
    expect((await call(rig, "/access/v1/evaluation", asked)).answer).toMatchObject({
      decision: false,
      context: { reason: expect.stringContaining("is not configured to trust that") },
    })
    expect(await decision(await start({ ...TRUST, peer: "attribute" }), asked)).toBe(false)
    const office = evaluation("/office", { subject: { ...ANONYMOUS, properties: { ip_address: "192.0.2.1" } } })
    expect(await decision(rig, office)).toBe(false)
    const trusting = await start({ ...TRUST, peer: "subject", address: "subject" })
    expect(await decision(trusting, evaluation("/cart", { subject: workload("198.51.100.1") }))).toBe(true)
    expect(await decision(trusting, office)).toBe(true)
    expect(await decision(trusting, evaluation("/public/a"))).toBe(false)
  })

  it.each<[string, object, false | 400]>([
    ["no subject", evaluation("/public/a", { subject: undefined }), 400],
    ["another type of subject", evaluation("/public/a", { subject: { type: "user", id: "alice" } }), 400],
    ["a path in another spelling", evaluation("/public//a"), false],
    ["an escaped path in another spelling", evaluation("/private/%2e%2e/public/a"), false],
    ["a URL as the path", evaluation("http://shop.example/public/a"), false],
    ["an invalid method", evaluation("/public/a", { action: { name: "GET /" } }), false],
    ["a second host", evaluation("/public/a", { context: { headers: { host: "other.example" } } }), 400],
    ["a forged header", evaluation("/public/a", { context: { headers: { "x-merlon-decision": "1" } } }), false],
    ["a batch", { evaluations: [evaluation("/public/a")] }, 400],
  ])("is not allowed with %s", async (_, asked, expected) => {
    expect(await decision(await start(TRUST), asked)).toBe(expected)
  })

  it("is denied if a comma may hide one of several lines of a header", async () => {
    const guests = authorization("guests", {
      action: "DENY",
      rules: [{ when: [{ key: "request.headers[x-role]", values: ["guest"] }] }],
    })
    const rig = await start(TRUST, [...POLICIES, guests])
    const withRole = (role: string | string[]) =>
      decision(rig, evaluation("/public/a", { context: { headers: { "x-role": role } } }))
    expect(await withRole("staff,guest")).toBe(false)
    expect(await withRole(["staff", " guest"])).toBe(false)
    expect(await withRole("staff,other")).toBe(true)
    // A list says which lines there are.
    expect(await withRole(["staff,guest"])).toBe(true)
  })

  it("is rejected with another method, another content type or too much content", async () => {
    const rig = await start(TRUST)
    expect((await call(rig, "/access/v1/evaluation")).status).toBe(400)
    const asked = evaluation("/public/a")
    expect((await call(rig, "/access/v1/evaluation", asked, { "content-type": "text/plain" })).status).toBe(400)
    const long = evaluation("/public/a", { context: { headers: { "x-long": "a".repeat(200_000) } } })
    expect((await call(rig, "/access/v1/evaluation", long)).status).toBe(403)
    expect((await call(rig, "/.well-known/authzen-configuration", {})).status).toBe(400)
  })

  it("evaluates each item of a batch, and records each decision", async () => {
    const rig = await start(TRUST)
    const evaluations = ["/public/a", "/private", "/public/b"].map(path => ({ resource: evaluation(path).resource }))
    const asked = { ...evaluation("/"), evaluations: [...evaluations, { subject: null }] }
    const decisions = async (semantic?: string) => {
      const options = { evaluations_semantic: semantic }
      const { answer } = await call(rig, "/access/v1/evaluations", { ...asked, options })
      return answer.evaluations.map((each: { decision: boolean }) => each.decision)
    }
    expect(await decisions()).toEqual([true, false, true, false])
    await rig.meters.until(({ records }) => records.length === 4)
    const ids = rig.meters.records.map(({ path, status, decisionId }) => [path, status, decisionId !== undefined])
    expect(ids).toEqual([
      ["/public/a", 200, false],
      ["/private", 403, true],
      ["/public/b", 200, false],
      ["/access/v1/evaluations", 400, true],
    ])
    expect(await decisions("deny_on_first_deny")).toEqual([true, false])
    expect(await decisions("permit_on_first_permit")).toEqual([true])
  })

  it("works over HTTP/2 too", async () => {
    const session = connect(`http://127.0.0.1:${(await start()).port}`)
    const stream = session.request({ ":method": "POST", ":path": "/access/v1/evaluation", ...JSON_HEADERS })
    stream.end(JSON.stringify(evaluation("/public/a")))
    const [head] = await once(stream, "response")
    expect([head[":status"], head["content-type"]]).toEqual([200, "application/json"])
    expect(JSON.parse(Buffer.concat(await stream.toArray()).toString())).toEqual({ decision: true })
    session.close()
  })

  it("lists the methods that would be allowed, and records no decision for them", async () => {
    const rig = await start(TRUST)
    for (const path of ["/public/a", "/private", "/public//a"]) {
      const { action: _, ...asked } = evaluation(path)
      const { status, answer } = await call(rig, "/access/v1/search/action", asked)
      const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
      const each = await Promise.all(methods.map(name => decision(rig, { ...asked, action: { name } })))
      const allowed = methods.filter((_, at) => each[at] === true)
      expect([path, status, answer]).toEqual([path, 200, { results: allowed.map(name => ({ name })) }])
      expect(allowed.length > 0).toBe(path === "/public/a")
    }
    await rig.meters.until(({ records }) => records.length === 24)
    const searches = rig.meters.records.filter(({ path }) => path === "/access/v1/search/action")
    expect(searches.map(({ judgement, status }) => [judgement, status])).toEqual(Array(3).fill([undefined, 200]))
  })

  it("rejects a search with an action, without a subject, or from a caller that is not a gateway", async () => {
    const rig = await start(TRUST)
    const { action: _, ...asked } = evaluation("/public/a")
    const search = async (of: Rig, body: object) => (await call(of, "/access/v1/search/action", body)).status
    expect(await search(rig, evaluation("/public/a"))).toBe(400)
    expect(await search(rig, { ...asked, subject: undefined })).toBe(400)
    expect(await search(await start({ ...TRUST, gateways: ["192.0.2.1"] }), asked)).toBe(403)
    expect(await search(await start({ ...TRUST, authzen: false }), asked)).toBe(403)
  })

  it("publishes its endpoints, and counts no decision for that", async () => {
    const rig = await start(TRUST)
    const { answer } = await call(rig, "/.well-known/authzen-configuration")
    const origin = `http://127.0.0.1:${rig.port}`
    expect(answer).toMatchObject({ policy_decision_point: origin })
    expect(await decision(rig, evaluation("/private"))).toBe(false)
    await rig.meters.until(({ records }) => records.length > 0)
    expect(rig.meters.records).toMatchObject([{ path: "/private" }])
  })
})
