// SPDX-License-Identifier: Apache-2.0
// Clients and applications that disconnect at any moment, in any way: nothing stays open but idle connections to the
// application, and every request is recorded once.
import type { IncomingMessage, ServerResponse } from "node:http"
import { eventually, requestText } from "@merlon/wire/testing"
import fc from "fast-check"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { Rig } from "./testing/rig.js"

const BEHAVIOURS = ["answer", "early", "half", "hang-up", "reset", "close"] as const
type Behaviour = (typeof BEHAVIOURS)[number]

let rig: Rig
let plan: readonly Behaviour[] = []
let served = 0
let seen = 0
let sent = 0

function behave(behaviour: Behaviour, incoming: IncomingMessage, reply: ServerResponse): void {
  switch (behaviour) {
    case "answer":
      incoming.resume().on("end", () => reply.end("x".repeat(10_000)))
      return
    case "early":
      reply.end("early")
      return
    case "half":
      reply.writeHead(200, { "content-length": 100 }).write("half", () => incoming.socket.destroy())
      return
    case "hang-up":
      incoming.socket.end()
      return
    case "reset":
      incoming.socket.resetAndDestroy()
      return
    case "close":
      reply.setHeader("connection", "close")
      reply.end("bye")
  }
}

beforeAll(async () => {
  rig = await Rig.start({
    application: (incoming, reply) => {
      seen++
      incoming.on("error", () => undefined)
      behave(plan[served++ % plan.length] ?? "answer", incoming, reply)
    },
  })
})
afterAll(() => rig.stop())

it("leaves nothing behind", async () => {
  const moment = fc.record({
    texts: fc.array(requestText, { minLength: 1, maxLength: 4 }),
    cut: fc.double({ min: 0, max: 1, noNaN: true }),
    ending: fc.constantFrom("end" as const, "destroy" as const, "reset" as const),
    behaviours: fc.array(fc.constantFrom(...BEHAVIOURS), { minLength: 1, maxLength: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(moment, async ({ texts, cut, ending, behaviours }) => {
      plan = behaviours
      served = 0
      sent += texts.length
      const text = texts.join("")
      const client = await rig.client()
      client.send(text.slice(0, Math.max(1, Math.ceil(text.length * cut))))
      if (ending === "end") client.socket.end()
      else {
        await new Promise(resolve => setImmediate(resolve))
        if (ending === "destroy") client.socket.destroy()
        else client.socket.resetAndDestroy()
      }
      await client.until(({ ended, closed }) => ended || closed)
      client.socket.destroy()
      await eventually(() => rig.connections.size === 0)
      await eventually(() => rig.upstream.connections === rig.upstream.idleConnections)
    }),
    { numRuns: 100 * inject("effort") },
  )
  // The application may see a request twice if it hung up on the first attempt, but never more often.
  expect(seen).toBeLessThanOrEqual(2 * rig.meters.records.length)
  expect(rig.meters.records.length).toBeLessThanOrEqual(sent)
})
