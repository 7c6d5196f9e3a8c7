// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { DEFAULT_SERVER_LIMITS, type StreamLimits } from "./limits.js"
import { type SotwRequest, type SotwResponse, SotwSession } from "./sotw-session.js"
import { MemorySource } from "./testing/memory-source.js"

const CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
const ENDPOINTS = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

function sotwRig(limits: Partial<StreamLimits> = {}) {
  const source = new MemorySource()
  const overdue: string[] = []
  const subscriber = source.subscribe(typeUrl => session.wake(typeUrl))
  const session: SotwSession = new SotwSession({
    subscriber,
    mayWatch: typeUrl => source.rejectedTypes.get(typeUrl),
    limits: { ...DEFAULT_SERVER_LIMITS, ...limits },
    observe: { overdue: typeUrl => void overdue.push(typeUrl) },
  })
  const clock = { now: 1_000 }
  const ask = (typeUrl: string, resourceNames: readonly string[], rest: Partial<SotwRequest> = {}) =>
    session.request({ typeUrl, resourceNames, responseNonce: "", ...rest })
  return { source, session, clock, overdue, ask, next: () => session.next(clock.now) }
}

function summary(response: SotwResponse | undefined): readonly string[] | undefined {
  return response?.resources.map(({ name, version }) => `${name}@${version}`).sort()
}

const nonce = (response: SotwResponse | undefined) => ({ responseNonce: response?.nonce ?? "none" })

describe("clusters and listeners", () => {
  it("are sent completely with every change, so that a missing resource is a deleted one", () => {
    const rig = sotwRig()
    rig.source.set(CLUSTER, "a", "1")
    rig.source.set(CLUSTER, "b", "1")
    rig.ask(CLUSTER, [])
    const first = rig.next()
    expect(summary(first)).toEqual(["a@1", "b@1"])
    expect(first?.revision).toBe(rig.source.revision)
    rig.ask(CLUSTER, [], nonce(first))
    expect(rig.next()).toBeUndefined()
    rig.source.set(CLUSTER, "a", undefined)
    expect(summary(rig.next())).toEqual(["b@1"])
  })

  it("get a response even if there are none", () => {
    const rig = sotwRig()
    rig.ask(CLUSTER, ["ghost"])
    const first = rig.next()
    expect(summary(first)).toEqual([])
    rig.ask(CLUSTER, ["ghost", "other"], nonce(first))
    expect(summary(rig.next())).toEqual([])
  })

  it("are limited to the names of the newest request", () => {
    const rig = sotwRig()
    for (const name of ["a", "b", "c"]) rig.source.set(CLUSTER, name, "1")
    rig.ask(CLUSTER, ["a", "b"])
    const first = rig.next()
    expect(summary(first)).toEqual(["a@1", "b@1"])
    rig.ask(CLUSTER, ["b", "c"], nonce(first))
    expect(summary(rig.next())).toEqual(["b@1", "c@1"])
  })
})

describe("other types", () => {
  it("are sent only if new or changed", () => {
    const rig = sotwRig()
    for (const name of ["a", "b", "c"]) rig.source.set(ENDPOINTS, name, "1")
    rig.ask(ENDPOINTS, ["a"])
    const first = rig.next()
    expect(summary(first)).toEqual(["a@1"])
    rig.ask(ENDPOINTS, ["a", "b"], nonce(first))
    const second = rig.next()
    expect(summary(second)).toEqual(["b@1"])
    rig.ask(ENDPOINTS, ["a", "b"], nonce(second))
    rig.source.set(ENDPOINTS, "a", "2")
    expect(summary(rig.next())).toEqual(["a@2"])
  })

  it("are sent once a missing name exists", () => {
    const rig = sotwRig()
    rig.ask(ENDPOINTS, ["ghost"])
    expect(rig.next()).toBeUndefined()
    rig.source.set(ENDPOINTS, "ghost", "1")
    expect(summary(rig.next())).toEqual(["ghost@1"])
  })

  it("are sent again after a name was dropped and requested again", () => {
    const rig = sotwRig()
    rig.source.set(ENDPOINTS, "a", "1")
    rig.source.set(ENDPOINTS, "b", "1")
    rig.ask(ENDPOINTS, ["a", "b"])
    const first = rig.next()
    rig.ask(ENDPOINTS, ["b"], nonce(first))
    expect(rig.next()).toBeUndefined()
    rig.ask(ENDPOINTS, ["a", "b"])
    expect(summary(rig.next())).toEqual(["a@1"])
  })

  it("are sent again if they were deleted and recreated in the same version", () => {
    const rig = sotwRig()
    rig.source.set(ENDPOINTS, "a", "1")
    rig.ask(ENDPOINTS, ["a"])
    rig.ask(ENDPOINTS, ["a"], nonce(rig.next()))
    rig.source.set(ENDPOINTS, "a", undefined)
    expect(rig.next()).toBeUndefined()
    rig.source.set(ENDPOINTS, "a", "1")
    expect(summary(rig.next())).toEqual(["a@1"])
  })

  it("are unsubscribed by an empty list after a list with names", () => {
    const rig = sotwRig()
    rig.source.set(ENDPOINTS, "a", "1")
    rig.ask(ENDPOINTS, ["a"])
    rig.ask(ENDPOINTS, [], nonce(rig.next()))
    rig.source.set(ENDPOINTS, "a", "2")
    expect(rig.next()).toBeUndefined()
  })
})

describe("acknowledgements", () => {
  it("release the next response; until then changes are batched", () => {
    const rig = sotwRig()
    rig.source.set(CLUSTER, "a", "1")
    rig.ask(CLUSTER, [])
    const first = rig.next()
    rig.source.set(CLUSTER, "a", "2")
    rig.source.set(CLUSTER, "a", "3")
    expect(rig.next()).toBeUndefined()
    rig.ask(CLUSTER, [], nonce(first))
    expect(summary(rig.next())).toEqual(["a@3"])
  })

  it("that reject are reported, and nothing new is sent until a change", () => {
    const rig = sotwRig()
    rig.source.set(ENDPOINTS, "a", "bad")
    rig.source.set(ENDPOINTS, "b", "1")
    rig.ask(ENDPOINTS, ["a", "b"])
    rig.ask(ENDPOINTS, ["a", "b"], { ...nonce(rig.next()), errorDetail: { message: "a is bad" } })
    expect(rig.source.acknowledgements.at(-1)).toMatchObject({ kind: "rejected", message: "a is bad" })
    rig.session.wake(ENDPOINTS)
    expect(rig.next()).toBeUndefined()
    rig.source.set(ENDPOINTS, "a", "2")
    expect(summary(rig.next())).toEqual(["a@2", "b@1"])
  })

  it("that are stale are ignored, but their names count", () => {
    const rig = sotwRig()
    rig.source.set(ENDPOINTS, "a", "1")
    rig.source.set(ENDPOINTS, "b", "1")
    rig.ask(ENDPOINTS, ["a"])
    const first = rig.next()
    rig.ask(ENDPOINTS, ["a", "b"], { responseNonce: "stale" })
    expect(rig.source.acknowledgements).toEqual([])
    rig.ask(ENDPOINTS, ["a", "b"], nonce(first))
    expect(summary(rig.next())).toEqual(["b@1"])
  })

  it("of a response that was never sent are ignored", () => {
    const rig = sotwRig()
    rig.source.set(ENDPOINTS, "a", "1")
    rig.ask(ENDPOINTS, ["a"])
    const first = rig.next()
    // The next nonce, which any client can guess.
    rig.ask(ENDPOINTS, ["a"], { responseNonce: `2-${rig.source.revision}` })
    rig.ask(ENDPOINTS, ["a"], { responseNonce: `2-${rig.source.revision + 1}` })
    expect(rig.source.acknowledgements).toEqual([])
    rig.ask(ENDPOINTS, ["a"], { ...nonce(first) })
    expect(rig.source.acknowledgements).toEqual([
      { kind: "acknowledged", typeUrl: ENDPOINTS, revision: rig.source.revision },
    ])
  })

  it("that do not come are only awaited until the deadline", () => {
    const rig = sotwRig()
    rig.source.set(CLUSTER, "a", "1")
    rig.ask(CLUSTER, [])
    rig.next()
    rig.source.set(CLUSTER, "a", "2")
    expect(rig.next()).toBeUndefined()
    rig.clock.now += 15_000
    expect(summary(rig.next())).toEqual(["a@2"])
    expect(rig.overdue).toEqual([CLUSTER])
  })
})

describe("a hostile client", () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`)
  test.each<[string, (rig: ReturnType<typeof sotwRig>) => unknown, string]>([
    ["may not subscribe to too many names", rig => rig.ask(ENDPOINTS, names(101)), "RESOURCE_EXHAUSTED"],
    [
      "may not spread too many names over types",
      rig =>
        names(5)
          .map(each => rig.ask(each, names(100)))
          .at(-1),
      "RESOURCE_EXHAUSTED",
    ],
    ["may not use long names", rig => rig.ask(ENDPOINTS, ["x".repeat(2_000)]), "INVALID_ARGUMENT"],
    ["may not omit the type", rig => rig.ask("", []), "INVALID_ARGUMENT"],
    [
      "may not open too many types",
      rig =>
        names(33)
          .map(each => rig.ask(each, []))
          .at(-1),
      "RESOURCE_EXHAUSTED",
    ],
  ])("%s", (_, act, code) => {
    expect(act(sotwRig({ namesPerType: 100, namesPerStream: 400 }))).toMatchObject({ code })
  })

  it("is rejected for a type that it may not subscribe to", () => {
    const rig = sotwRig()
    rig.source.rejectedTypes.set(CLUSTER, { code: "PERMISSION_DENIED", message: "not yours" })
    expect(rig.ask(CLUSTER, [])).toMatchObject({ code: "PERMISSION_DENIED" })
  })
})
