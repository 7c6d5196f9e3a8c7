// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { DEFAULT_SERVER_LIMITS } from "./limits.js"
import { type SotwResponse, SotwSession } from "./sotw-session.js"
import { MemorySource } from "./testing/memory-source.js"

const CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
const ENDPOINTS = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
const NAMES = ["a", "b", "c"]

/** A client as the protocol describes it: resources missing from a complete type are deleted, other types only add. */
class Model {
  readonly held = new Map<string, string>()
  readonly source = new MemorySource()
  readonly #session: SotwSession
  readonly #complete: boolean
  readonly #typeUrl: string
  #names: readonly string[] = []
  #now = 0
  #nonce = ""
  #underWay: SotwResponse[] = []

  constructor(typeUrl: string) {
    this.#typeUrl = typeUrl
    this.#complete = typeUrl === CLUSTER
    const subscriber = this.source.subscribe(each => this.#session.wake(each))
    const limits = { ...DEFAULT_SERVER_LIMITS, ackDeadlineMs: 1_000 }
    this.#session = new SotwSession({ subscriber, mayWatch: () => undefined, limits })
  }

  ask(names: readonly string[]): void {
    this.#names = names
    for (const name of this.held.keys()) if (!names.includes(name)) this.held.delete(name)
    this.#send()
  }

  pump(): void {
    for (let next = this.#session.next(this.#now); next !== undefined; next = this.#session.next(this.#now)) {
      this.#underWay.push(next)
    }
  }

  receive(accept: boolean): boolean {
    const response = this.#underWay.shift()
    if (response === undefined) return false
    this.#nonce = response.nonce
    if (accept) {
      if (this.#complete) this.held.clear()
      for (const { name, version } of response.resources) if (this.#names.includes(name)) this.held.set(name, version)
    }
    this.#send(accept ? undefined : { message: "no" })
    return true
  }

  hang(): void {
    this.#now += 1_000
    this.pump()
  }

  settle(): void {
    do this.pump()
    while (this.receive(true))
  }

  expected(): ReadonlyMap<string, string> {
    const wanted = [...this.source.all(this.#typeUrl).values()].filter(({ name }) => this.#names.includes(name))
    return new Map(wanted.map(({ name, version }) => [name, version]))
  }

  #send(errorDetail?: { readonly message: string }): void {
    this.#session.request({
      typeUrl: this.#typeUrl,
      resourceNames: this.#names,
      responseNonce: this.#nonce,
      errorDetail,
    })
  }
}

type Step = (model: Model, typeUrl: string) => void

const change = fc.record({ name: fc.constantFrom(...NAMES), version: fc.constantFrom("1", "2", undefined) }).map(
  ({ name, version }): Step =>
    (model, typeUrl) =>
      model.source.set(typeUrl, name, version),
)
const steps = fc.array(
  fc.oneof(
    change,
    fc.subarray(NAMES, { minLength: 1 }).map(
      (names): Step =>
        model =>
          model.ask(names),
    ),
    fc.constant<Step>(model => model.pump()),
    fc.boolean().map(
      (accept): Step =>
        model =>
          void model.receive(accept),
    ),
    fc.constant<Step>(model => model.hang()),
  ),
  { maxLength: 40 },
)

function run(typeUrl: string, each: readonly Step[]): Model {
  const model = new Model(typeUrl)
  model.ask(["a", "b"])
  for (const step of each) step(model, typeUrl)
  // A rejection lasts until something changes; after these changes the client must be up to date.
  for (const name of NAMES) model.source.set(typeUrl, name, "last")
  model.settle()
  return model
}

it("brings a client of a complete type to exactly the current state", () => {
  fc.assert(
    fc.property(steps, each => {
      const model = run(CLUSTER, each)
      expect(model.held).toEqual(model.expected())
      model.source.set(CLUSTER, "a", undefined)
      model.settle()
      expect(model.held).toEqual(model.expected())
    }),
    { numRuns: 1_000 * inject("effort") },
  )
})

it("brings a client of any other type the newest version of all it subscribed to", () => {
  fc.assert(
    fc.property(steps, each => {
      const model = run(ENDPOINTS, each)
      expect(model.held).toEqual(model.expected())
    }),
    { numRuns: 1_000 * inject("effort") },
  )
})
