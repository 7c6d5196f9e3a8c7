// SPDX-License-Identifier: Apache-2.0
// A real `merlond authorizer`, queried by an xserver and by AuthZEN, and OPA in its place: verdicts are those of an
// xserver with the same policies.

import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { GatewayRig } from "./support/gateway-rig.js"
import { document, XserverProcess } from "./support/xserver.js"

let rig: GatewayRig
beforeAll(async () => {
  rig = await GatewayRig.start()
})
afterAll(() => rig.stop())

describe("xserver with a CUSTOM policy", () => {
  const custom = document("AuthorizationPolicy", "ask", {
    action: "CUSTOM",
    provider: { name: "authorizer" },
    rules: [{}],
  })

  it.each([
    ["gRPC", { protocol: "grpc" }, []],
    ["HTTP", { protocol: "http", pathPrefix: "/ext-authz" }, []],
    ["AuthZEN", { protocol: "authzen" }, ["--authzen", "--trust-peer", "authzen", "--trust-address", "authzen"]],
  ])("decides like one with the policies themselves, asking by %s", async (_, how, args) => {
    const authorizer = await rig.startAuthorizer(args)
    const provider = {
      ...how,
      name: "authorizer",
      address: `127.0.0.1:${authorizer.port}`,
      timeoutMs: 30_000,
      sendHeaders: ["*"],
      headersToUpstream: ["x-user"],
    }
    const mesh = { providers: [provider] }
    const pending = await XserverProcess.start({ upstream: rig.application.port, policies: [custom], more: { mesh } })
    rig.atEnd(() => pending.remove())
    await rig.agreesWithXserver(pending.port)
    await authorizer.kill()
    const denied = await fetch(`${pending.url}/public/a`)
    expect(denied.status).toBe(403)
    const id = denied.headers.get("x-merlon-decision")
    const decision = await fetch(`http://127.0.0.1:${pending.admin}/decisions/${id}`)
    expect(await decision.text()).toContain("no answer from provider `authorizer`: it cannot be reached")
  })
})

it("decides like xserver, asked by AuthZEN", async () => {
  const authorizer = await rig.startAuthorizer(["--authzen", "--trust-peer", "authzen", "--trust-address", "authzen"])
  await fc.assert(
    fc.asyncProperty(rig.asked, async ({ method, path, headers }) => {
      // Such a header is denied, because a caller of the API need not remove it.
      const { x_user: _, ...sent } = headers
      const { status, application: seen } = await rig.ask(rig.xserver.port, { method, path, headers: sent })
      const response = await fetch(`${authorizer.url}/access/v1/evaluation`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          subject: { type: "anonymous", id: "", properties: { ip_address: "127.0.0.1" } },
          action: { name: method },
          resource: { type: "http", id: path, properties: { host: "shop.example" } },
          context: { headers: sent },
        }),
      })
      const denied = { decision: false, context: { status } }
      expect(await response.json()).toMatchObject(seen === undefined ? denied : { decision: true })
    }),
    { numRuns: 40 },
  )
})

describe("OPA as a provider of CUSTOM policies", { tags: ["needs/opa-ext-authz"] }, () => {
  const REGO = `package envoy.authz

request := input.attributes.request.http

default allow := {"allowed": false, "http_status": 401, "body": "not by OPA", "headers": {"www-authenticate": "OPA", "x-secret": "1"}}

allow := {"allowed": true, "headers": {"x-user": "opa", "x-secret": "1"}} if {
\trequest.method == "GET"
\tstartswith(request.path, "/public/")
\trequest.headers["x-role"] == "admin"
}
`

  it("allows and denies as its policy says, and denies when it is down", async () => {
    const folder = rig.folder("opa")
    const port = await freePort()
    writeFileSync(join(folder, "policy.rego"), REGO)
    const child = rig.run("opa-ext-authz", [`127.0.0.1:${port}`, join(folder, "policy.rego")])
    const provider = {
      name: "opa",
      protocol: "grpc",
      address: `127.0.0.1:${port}`,
      timeoutMs: 30_000,
      sendHeaders: ["x-role"],
      headersToUpstream: ["x-user"],
    }
    const custom = document("AuthorizationPolicy", "ask", { action: "CUSTOM", provider: { name: "opa" }, rules: [{}] })
    const more = { mesh: { providers: [provider] } }
    const pending = await XserverProcess.start({ upstream: rig.application.port, policies: [custom], more })
    rig.atEnd(() => pending.remove())
    await eventually(async () => (await fetch(`${pending.url}/`)).status === 401, { what: "OPA answers" })
    await fc.assert(
      fc.asyncProperty(rig.asked, async each => {
        const isAllowed =
          each.method === "GET" && each.path.startsWith("/public/") && each.headers["x-role"] === "admin"
        const { status, application: seen } = await rig.ask(pending.port, each)
        expect([status, seen?.user]).toEqual(isAllowed ? [200, "opa"] : [401, undefined])
      }),
      { numRuns: 40 },
    )
    const denied = await fetch(`${pending.url}/orders`)
    const { headers } = denied
    expect([await denied.text(), headers.get("www-authenticate"), headers.get("x-secret")]).toEqual([
      "not by OPA",
      "OPA",
      null,
    ])
    child.kill("SIGKILL")
    await once(child, "exit")
    expect((await fetch(`${pending.url}/public/a`, { headers: { "x-role": "admin" } })).status).toBe(403)
  })
})
