// SPDX-License-Identifier: Apache-2.0
// End to end: whatever a client sends, a Node application behind the proxy sees the requests that were evaluated and
// allowed, in that order, and no others.
import { METHODS } from "node:http"
import { eventually, mutated, requestText } from "@merlon/wire/testing"
import fc from "fast-check"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { Rig } from "./testing/rig.js"

/** Any token is a valid method, but a Node application answers 400 to those it does not know, without an event. */
const READABLE: ReadonlySet<string> = new Set(METHODS)

let rig: Rig
const seen: string[] = []
/**
 * Allowed requests that the application had not seen when they were abandoned; it may still see them in a later run.
 */
const abandoned: string[] = []

beforeAll(async () => {
  rig = await Rig.start({
    application: (incoming, reply) => {
      seen.push(`${incoming.method} ${incoming.url}`)
      incoming
        .on("error", () => undefined)
        .resume()
        .on("end", () => reply.end("x"))
    },
  })
})
afterAll(() => rig.stop())

it("forwards the evaluated requests, and nothing hidden in them", async () => {
  const texts = fc.array(mutated(requestText), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(texts, async ([...parts]) => {
      seen.length = 0
      rig.meters.records.length = 0
      const client = await rig.client()
      client.send(parts.join(""))
      client.socket.end()
      await client.until(({ ended, closed }) => ended || closed)
      await eventually(() => rig.connections.size === 0)
      const allowed = rig.meters.records.flatMap(({ judgement, method }) =>
        judgement?.verdict === "allow" && "target" in judgement && method !== undefined && READABLE.has(method)
          ? [`${method} ${judgement.target}`]
          : [],
      )
      const unexpected = seen.filter(request => {
        // In order. Requests in between were answered by Node without an event, as it does for an unknown `Expect`.
        const at = allowed.indexOf(request)
        if (at >= 0) {
          abandoned.push(...allowed.splice(0, at + 1).slice(0, -1))
          return false
        }
        const late = abandoned.indexOf(request)
        if (late >= 0) abandoned.splice(late, 1)
        return late < 0
      })
      abandoned.push(...allowed)
      expect(unexpected).toEqual([])
    }),
    { numRuns: 100 * inject("effort") },
  )
})
