// SPDX-License-Identifier: Apache-2.0
// All connections read into one shared buffer, which is overwritten after the bytes were passed on. Bytes that have to
// wait must arrive unchanged.

import { eventually } from "@merlon/wire/testing"
import { afterEach, expect, it } from "vitest"
import { Rig } from "./testing/rig.js"

let rig: Rig
afterEach(() => rig.stop())

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

it("answers requests that were pipelined while another one was answered", async () => {
  const asked: string[] = []
  let answerFirst = (): void => undefined
  rig = await Rig.start({
    application: (request, reply) => {
      asked.push(request.url ?? "")
      const answer = (): void => void reply.end(request.url)
      if (request.url === "/1") answerFirst = answer
      else answer()
    },
  })
  const client = await rig.client()
  client.send(get("/1"))
  await eventually(() => asked.length === 1)
  client.send(get("/2") + get("/3"))
  // Meanwhile another connection reads into the same buffer.
  const other = await rig.client()
  other.send(get("/4"))
  expect(await other.response()).toMatch(/\/4$/)
  answerFirst()
  for (const path of ["/1", "/2", "/3"]) expect((await client.response()).endsWith(path)).toBe(true)
  expect(asked).toEqual(["/1", "/4", "/2", "/3"])
})

it("keeps the content of a request that waits for a connection to the application", async () => {
  const bodies = new Map<string, string>()
  let answerFirst = (): void => undefined
  rig = await Rig.start({
    hand: "untouched",
    limits: { upstreamConnections: 1, callerSharePercent: 100 },
    application: (request, reply) => {
      let body = ""
      request.on("data", chunk => {
        body += chunk
      })
      request.on("end", () => {
        bodies.set(request.url ?? "", body)
        if (request.url === "/1") answerFirst = () => void reply.end("1")
        else reply.end("2")
      })
    },
  })
  const first = await rig.client()
  first.send(get("/1"))
  await eventually(() => bodies.has("/1"))
  const second = await rig.client()
  second.send("POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\nhello world!")
  // Sent later and already answered: so the second request was read, and waits for the one connection.
  const third = await rig.client()
  third.send("nonsense\r\n\r\n")
  await third.all()
  answerFirst()
  expect(await second.response()).toMatch(/2$/)
  expect(bodies.get("/2")).toBe("hello world!")
})
