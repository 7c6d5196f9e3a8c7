// SPDX-License-Identifier: Apache-2.0
// Protected headers over HTTP/2, with applications of either version.
import { once } from "node:events"
import type { RequestListener } from "node:http"
import type { PolicyDocument } from "@merlon/policy/resources"
import { afterEach, describe, expect, it } from "vitest"
import { answerOf, type Http2Rig, type Speaks, startHttp2Rig } from "./testing/http2-rig.js"

let rig: Http2Rig
afterEach(() => rig.stop())

const tokens: PolicyDocument = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "RequestAuthentication",
  metadata: { name: "p", namespace: "shop" },
  spec: {
    jwtRules: [
      {
        issuer: "me",
        jwks: '{"keys":[]}',
        fromHeaders: [{ name: "x-jwt-assertion" }],
        outputClaimToHeaders: [{ header: "x-user-sub", claim: "sub" }],
      },
    ],
  },
}

const deny: PolicyDocument = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "AuthorizationPolicy",
  metadata: { name: "deny", namespace: "shop" },
  spec: { action: "DENY", rules: [{ when: [{ key: "request.headers[X-Banned]", values: ["late"] }] }] },
}

const mirror: RequestListener = (incoming, reply) => {
  incoming.resume().on("end", () => reply.end(JSON.stringify([incoming.rawHeaders, incoming.rawTrailers])))
}

const FORGED = {
  "x-user-sub": "forged",
  x_user_sub: "forged",
  "x_user-sub": "forged",
  "x.user.sub": "forged",
  "x~forwarded!client.cert": "forged",
  x_jwt_assertion: "forged",
  "x-forwarded-client-cert": "forged",
  x_forwarded_client_cert: "forged",
  "x-merlon-decision": "forged",
}

describe.each<Speaks>(["http/1.1", "h2c"])("towards an application that speaks %s", speaks => {
  it("no spelling of a protected header arrives, neither before nor after the content", async () => {
    rig = await startHttp2Rig(speaks, mirror, { policies: [tokens] })
    const session = rig.connect()
    const stream = session.request(
      { ":method": "POST", ":path": "/", "x-kept": "before", ...FORGED },
      { waitForTrailers: true },
    )
    const answer = answerOf(stream)
    stream.end("content")
    await once(stream, "wantTrailers")
    stream.sendTrailers({ "x-kept": "after", "x-jwt-assertion": "forged", ...FORGED })
    const { status, body } = await answer
    expect(status).toBe(200)
    expect(String(body)).toContain("before")
    expect(String(body)).toContain("after")
    expect(String(body)).not.toContain("forged")
  })

  it("no spelling of a trailer that a rule reads arrives", async () => {
    rig = await startHttp2Rig(speaks, mirror, { policies: [deny] })
    const stream = rig.connect().request({ ":method": "POST", ":path": "/" }, { waitForTrailers: true })
    const answer = answerOf(stream)
    stream.end("content")
    await once(stream, "wantTrailers")
    stream.sendTrailers({ "x-kept": "kept", "x-banned": "late", x_banned: "late", "x.banned": "late" })
    const { status, body } = await answer
    expect(status).toBe(200)
    expect(String(body)).toContain("kept")
    expect(String(body)).not.toContain("late")
  })
})
