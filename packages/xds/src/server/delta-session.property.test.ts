// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { TYPE } from "./testing/delta-rig.js"
import { MemorySource } from "./testing/memory-source.js"
import { ModelClient } from "./testing/model-client.js"

type Step = (client: ModelClient, source: MemorySource) => void

const name = fc.constantFrom("a", "b", "c", "d")
const change = fc.record({ name, version: fc.constantFrom("1", "2", "3", undefined) }).map(
  (event): Step =>
    (_, source) =>
      source.set(TYPE, event.name, event.version),
)
const subscribe = fc.oneof(name, fc.constant("*")).map(
  (each): Step =>
    client =>
      client.subscribe(each),
)
const unsubscribe = fc.oneof(name, fc.constant("*")).map(
  (each): Step =>
    client => {
      if (client.wanted.has(each)) client.unsubscribe(each)
    },
)
const pump = fc.constant<Step>(client => client.pump())
const receive = (...answers: readonly ("accept" | "refuse" | "reject-half")[]) =>
  fc.constantFrom(...answers).map(
    (answer): Step =>
      client =>
        void client.receive(answer),
  )
const hang = fc.constant<Step>(client => client.hang())
const reconnect = fc.constant<Step>(client => client.reconnect())

function run(steps: readonly Step[], startWith: readonly string[], end: "change" | "as-is" = "change"): ModelClient {
  const source = new MemorySource()
  const client = new ModelClient(source)
  for (const each of startWith) client.subscribe(each)
  for (const step of steps) step(client, source)
  // A rejection lasts until something changes; after these changes the client must be up to date.
  if (end === "change") for (const each of ["a", "b", "c", "d"]) source.set(TYPE, each, "last")
  client.settle()
  return client
}

const anything = fc.array(
  fc.oneof(change, subscribe, unsubscribe, pump, receive("accept", "refuse", "reject-half"), hang, reconnect),
  { maxLength: 40 },
)

it("brings the client to exactly the current state, whatever happened before", () => {
  fc.assert(
    fc.property(anything, fc.subarray(["*", "a", "c"]), (steps, startWith) => {
      const client = run(steps, startWith)
      expect(client.held).toEqual(client.expected())
    }),
    { numRuns: 2_000 * inject("effort") },
  )
})

it("brings a client that rejects nothing up to date without another change", () => {
  const steps = fc.array(fc.oneof(change, subscribe, unsubscribe, pump, receive("accept"), hang, reconnect), {
    maxLength: 40,
  })
  fc.assert(
    fc.property(steps, fc.subarray(["*", "a", "c"]), (each, startWith) => {
      const client = run(each, startWith, "as-is")
      expect(client.held).toEqual(client.expected())
    }),
    { numRuns: 2_000 * inject("effort") },
  )
})

it("sends nothing that the client already has and has acknowledged", () => {
  fc.assert(
    fc.property(anything, fc.subarray(["*", "a", "c"]), (steps, startWith) => {
      expect(run(steps, startWith).resent).toEqual([])
    }),
    { numRuns: 2_000 * inject("effort") },
  )
})

it("sends nothing that a reconnecting client already has", () => {
  const steps = fc.array(fc.oneof(change, pump, receive("accept"), reconnect), { maxLength: 40 })
  fc.assert(
    fc.property(steps, each => {
      const client = run(each, ["*"])
      expect(client.held).toEqual(client.expected())
      expect(client.resent).toEqual([])
    }),
    { numRuns: 1_000 * inject("effort") },
  )
})
