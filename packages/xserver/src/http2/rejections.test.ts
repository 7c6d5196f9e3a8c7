// SPDX-License-Identifier: Apache-2.0
// The response of an HTTP/2 client whose request is rejected; other requests continue.

import { once } from "node:events"
import { constants } from "node:http2"
import { afterEach, describe, expect, it, test } from "vitest"
import { Authority } from "../accept/testing/certificates.js"
import { authorization, type RigOptions } from "../accept/testing/rig.js"
import { type AppListener, answerOf, ask, type Http2Rig, type Speaks, startHttp2Rig } from "./testing/http2-rig.js"
import { closed, mirror, seen } from "./testing/mirror.js"

const authority = new Authority()
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start(speaks: Speaks, app: AppListener, options: RigOptions = {}): Promise<Http2Rig> {
  const rig = await startHttp2Rig(speaks, app, { authority, ...options })
  cleanups.push(() => rig.stop())
  return rig
}

describe("a rejection", () => {
  const deny = authorization("no-admin", { action: "DENY", rules: [{ to: [{ operation: { paths: ["/admin*"] } }] }] })

  it("has the exact status and body, and reveals nothing of the policy", async () => {
    const rig = await start("http/1.1", mirror, { policies: [deny] })
    const { status, headers, body } = await ask(rig.connect(), { ":path": "/x/../admin" })
    expect(status).toBe(403)
    expect(body.toString()).toBe("RBAC: access denied")
    expect(headers["content-type"]).toBe("text/plain")
    expect(headers["x-merlon-decision"]).toMatch(/^[0-9a-f]{20}$/)
    expect(JSON.stringify(headers)).not.toContain("no-admin")
    await rig.rig.meters.until(meters => meters.records.length === 1)
    expect(rig.rig.meters.records[0]).toMatchObject({ status: 403, decisionId: headers["x-merlon-decision"] })
  })

  it("does not wait for the rest of an upload", async () => {
    const rig = await start("http/1.1", mirror, { policies: [deny] })
    const stream = rig.connect().request({ ":method": "POST", ":path": "/admin" })
    stream.on("error", () => undefined)
    stream.write("first")
    const { status } = await answerOf(stream)
    expect(status).toBe(403)
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR)
  })

  it("does not affect other streams of the connection", async () => {
    const rig = await start("http/1.1", mirror, { policies: [deny] })
    const session = rig.connect()
    const answers = await Promise.all(["/a", "/admin", "/b"].map(path => ask(session, { ":path": path })))
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 200])
  })

  it("forwards the path as it was judged", async () => {
    const rig = await start("http/1.1", mirror, { policies: [deny] })
    expect((await seen(rig.connect(), { ":path": "/admin/../public" })).url).toBe("/public")
  })

  test.each<[string, Record<string, string>, number]>([
    ["a host that differs from the authority", { ":authority": "a.example", host: "other.example" }, 400],
    ["a method in another case", { ":method": "Post" }, 501],
    ["a fragment in the path", { ":path": "/a#b" }, 400],
    ["an escape that decodes to a control character", { ":path": "/a%00b" }, 400],
    ["an invalid authority", { ":authority": "a@b" }, 400],
  ])("applies to %s", async (_, headers, status) => {
    const rig = await start("http/1.1", mirror)
    expect((await ask(rig.connect(), headers)).status).toBe(status)
  })

  it("applies to CONNECT and a WebSocket over HTTP/2, and the connection stays open", async () => {
    const rig = await start("http/1.1", mirror)
    const session = rig.connect()
    const connect = session.request({ ":method": "CONNECT", ":authority": "db:5432" })
    expect((await answerOf(connect)).status).toBe(405)
    expect((await ask(session)).status).toBe(200)
  })

  it("is a reset stream if the mode has just changed; requests in flight continue", async () => {
    let finish = (): void => undefined
    const rig = await start("http/1.1", (_, response) => {
      finish = () => response.end("late")
    })
    const strict = await start("http/1.1", mirror, { mode: "STRICT" })
    const session = rig.connect()
    const busy = ask(session)
    await once(rig.app, "request")
    // The gate has the new mode, the listener does not yet.
    rig.rig.gate.swap(strict.rig.gate.program)
    const rejected = session.request()
    await closed(rejected)
    expect(rejected.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM)
    finish()
    expect((await busy).body.toString()).toBe("late")
    await rig.rig.meters.until(meters => meters.open === 0)
    expect(new Set(rig.rig.meters.records.map(({ status }) => status))).toEqual(new Set([0, 200]))
  })

  it("is a closed connection if the mode no longer allows it", async () => {
    const rig = await start("http/1.1", mirror)
    const session = rig.connect()
    expect((await ask(session)).status).toBe(200)
    const closed = once(session, "close")
    rig.rig.setMode("STRICT")
    await closed
    const next = rig.connect()
    await once(next, "close")
    expect(rig.rig.meters.failures).toEqual(["not-tls"])
  })
})
