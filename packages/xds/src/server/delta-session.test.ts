// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { deltaRig, summary, TYPE } from "./testing/delta-rig.js"

function rigWith(...names: readonly string[]) {
  const rig = deltaRig()
  for (const name of names) rig.source.set(TYPE, name, "1")
  return rig
}

describe("a subscription", () => {
  it("with a wildcard gets everything, and then only changes", () => {
    const rig = rigWith("a", "b")
    rig.subscribe("*")
    const first = rig.next()
    expect(summary(first)).toEqual(["a@1", "b@1"])
    rig.ack(first)
    expect(rig.next()).toBeUndefined()
    rig.source.set(TYPE, "b", "2")
    rig.source.set(TYPE, "c", "1")
    expect(summary(rig.next())).toEqual(["b@2", "c@1"])
  })

  it("without names is a wildcard if it is the first of its type, and empty later", () => {
    const rig = rigWith("a")
    rig.ask({})
    const first = rig.next()
    expect(summary(first)).toEqual(["a@1"])
    rig.ack(first)
    rig.ask({})
    expect(rig.next()).toBeUndefined()
  })

  it("gets a response even without resources, so that the client need not wait", () => {
    const rig = deltaRig()
    rig.subscribe("*")
    expect(summary(rig.next())).toEqual([])
  })

  it("by name gets only that resource", () => {
    const rig = rigWith("a", "b")
    rig.subscribe("a")
    const first = rig.next()
    expect(summary(first)).toEqual(["a@1"])
    rig.ack(first)
    rig.source.set(TYPE, "b", "2")
    expect(rig.next()).toBeUndefined()
  })

  it("to a missing name gets a removal, and later the resource", () => {
    const rig = deltaRig()
    rig.subscribe("ghost")
    const first = rig.next()
    expect(summary(first)).toEqual(["-ghost"])
    rig.ack(first)
    rig.session.wake(TYPE)
    expect(rig.next()).toBeUndefined()
    rig.source.set(TYPE, "ghost", "1")
    expect(summary(rig.next())).toEqual(["ghost@1"])
  })

  it("that is repeated gets its resource again, because the client has forgotten it", () => {
    const rig = rigWith("a")
    rig.subscribe("a")
    rig.ack(rig.next())
    rig.subscribe("a")
    expect(summary(rig.next())).toEqual(["a@1"])
  })

  it("that ends gets no further updates, and its pending acknowledgement is ignored", () => {
    const rig = rigWith("a", "b")
    rig.subscribe("a", "b")
    const first = rig.next()
    rig.unsubscribe("a")
    rig.ack(first)
    rig.source.set(TYPE, "a", "2")
    expect(rig.next()).toBeUndefined()
    rig.subscribe("a")
    expect(summary(rig.next())).toEqual(["a@2"])
  })

  it("to a name next to a wildcard, once ended, gets the wildcard's state of that name", () => {
    const rig = rigWith("a")
    rig.subscribe("*", "a", "ghost")
    const first = rig.next()
    expect(summary(first)).toEqual(["-ghost", "a@1"])
    rig.ack(first)
    rig.unsubscribe("a", "ghost")
    expect(summary(rig.next())).toEqual(["-ghost", "a@1"])
  })

  it("keeps its names when the wildcard ends", () => {
    const rig = rigWith("a", "b")
    rig.subscribe("*", "a")
    rig.ack(rig.next())
    rig.unsubscribe("*")
    rig.source.set(TYPE, "a", "2")
    rig.source.set(TYPE, "b", "2")
    expect(summary(rig.next())).toEqual(["a@2"])
  })

  it("of one type does not wait for another type", () => {
    const rig = rigWith("a")
    rig.source.set("other", "x", "1")
    rig.subscribe("*")
    rig.ask({ typeUrl: "other" })
    expect(new Set([rig.next()?.typeUrl, rig.next()?.typeUrl])).toEqual(new Set(["other", TYPE]))
    rig.source.set("other", "x", "2")
    expect(rig.next()).toBeUndefined()
  })

  it("sends clusters before the routes that name them", () => {
    const rig = deltaRig()
    const [cluster, route] = ["cluster.v3.Cluster", "route.v3.RouteConfiguration"].map(
      name => `type.googleapis.com/envoy.config.${name}`,
    )
    rig.ask({ typeUrl: route ?? "" })
    rig.ask({ typeUrl: cluster ?? "" })
    expect([rig.next()?.typeUrl, rig.next()?.typeUrl]).toEqual([cluster, route])
  })
})

describe("a reconnecting client", () => {
  const reconnect = (known: { readonly [name: string]: string }, subscribe: readonly string[] = ["*"]) => {
    const rig = rigWith("a", "b")
    rig.ask({ resourceNamesSubscribe: subscribe, initialResourceVersions: known })
    return rig.next()
  }
  test.each<[string, { readonly [name: string]: string }, readonly string[], readonly string[]]>([
    ["with everything gets an empty response", { a: "1", b: "1" }, ["*"], []],
    ["with an old version gets the new one", { a: "0", b: "1" }, ["*"], ["a@1"]],
    ["with less gets the rest", { a: "1" }, ["*"], ["b@1"]],
    ["with a deleted resource gets its removal", { a: "1", b: "1", old: "7" }, ["*"], ["-old"]],
    ["by names gets what it lacks", { a: "1" }, ["a", "b"], ["b@1"]],
    ["by names with a deleted resource gets its removal", { a: "1", old: "7" }, ["a", "old"], ["-old"]],
    ["that claims a resource without subscribing gets no update for it", { a: "1", other: "1" }, ["a"], []],
  ])("%s", (_, known, subscribe, expected) => {
    expect(summary(reconnect(known, subscribe))).toEqual(expected)
  })

  it("may claim versions once: later claims change nothing", () => {
    const rig = rigWith("a")
    rig.subscribe("*")
    rig.ack(rig.next())
    rig.source.set(TYPE, "a", "2")
    rig.ask({ initialResourceVersions: { a: "2" } })
    expect(summary(rig.next())).toEqual(["a@2"])
  })
})

describe("an acknowledgement", () => {
  it("releases the next response; until then changes are batched", () => {
    const rig = rigWith("a")
    rig.subscribe("*")
    const first = rig.next()
    rig.source.set(TYPE, "a", "2")
    rig.source.set(TYPE, "a", "3")
    rig.source.set(TYPE, "b", "1")
    expect(rig.next()).toBeUndefined()
    rig.ack(first)
    expect(summary(rig.next())).toEqual(["a@3", "b@1"])
  })

  it("reports the revision, which nonce and version contain, to the source", () => {
    const rig = rigWith("a")
    rig.subscribe("*")
    const first = rig.next()
    expect(first?.revision).toBe(rig.source.revision)
    expect(first?.nonce).toMatch(new RegExp(`-${rig.source.revision}$`))
    rig.ack(first)
    expect(rig.source.acknowledgements).toEqual([
      { kind: "acknowledged", typeUrl: TYPE, revision: rig.source.revision },
    ])
  })

  it("with an unknown nonce acknowledges nothing, but its names count", () => {
    const rig = rigWith("a", "b")
    rig.subscribe("a")
    const first = rig.next()
    rig.ask({ responseNonce: "stale", resourceNamesSubscribe: ["b"] })
    expect(rig.source.acknowledgements).toEqual([])
    expect(rig.next()).toBeUndefined()
    rig.ack(first)
    expect(summary(rig.next())).toEqual(["b@1"])
    rig.ack(first)
    expect(rig.source.acknowledgements).toHaveLength(1)
  })

  it("counts once, for its own type, and only after its response was sent", () => {
    const rig = rigWith("a")
    rig.source.set("other", "x", "1")
    rig.subscribe("*")
    rig.ask({ typeUrl: "other" })
    const sent = [rig.next(), rig.next()]
    const [ours, theirs] = [sent.find(one => one?.typeUrl === TYPE), sent.find(one => one?.typeUrl === "other")]
    rig.ack(theirs)
    // The next nonce, which any client can guess.
    rig.ask({ responseNonce: `3-${rig.source.revision}` })
    rig.ask({ responseNonce: `3-${rig.source.revision + 1}` })
    expect(rig.source.acknowledgements).toEqual([])
    rig.ack(ours)
    rig.source.set(TYPE, "a", "2")
    expect(rig.next()?.nonce).toBe(`3-${rig.source.revision}`)
    rig.ack(ours)
    rig.nack(ours)
    expect(rig.source.acknowledgements).toEqual([{ kind: "acknowledged", typeUrl: TYPE, revision: ours?.revision }])
  })

  it("is not needed if a change was reverted in the meantime", () => {
    const rig = rigWith("a")
    rig.subscribe("*")
    rig.ack(rig.next())
    rig.source.set(TYPE, "a", "2")
    rig.source.set(TYPE, "a", "1")
    expect(rig.next()).toBeUndefined()
    expect(rig.source.acknowledgements.at(-1)).toEqual({
      kind: "acknowledged",
      typeUrl: TYPE,
      revision: rig.source.revision,
    })
  })
})

describe("a rejection", () => {
  it("is reported and not resent until something changes", () => {
    const rig = rigWith("a", "b")
    rig.subscribe("*")
    rig.ack(rig.next())
    rig.source.set(TYPE, "a", "bad")
    rig.source.set(TYPE, "b", "2")
    const rejected = rig.next()
    const { revision } = rig.source
    rig.nack(rejected, "a is bad")
    expect(rig.source.acknowledgements.at(-1)).toEqual({
      kind: "rejected",
      typeUrl: TYPE,
      revision,
      message: "a is bad",
    })
    rig.session.wake(TYPE)
    expect(rig.next()).toBeUndefined()
    rig.source.set(TYPE, "a", "3")
    expect(summary(rig.next())).toEqual(["a@3", "b@2"])
  })

  it("of a reverted change resends the old version", () => {
    const rig = rigWith("a")
    rig.subscribe("*")
    rig.ack(rig.next())
    rig.source.set(TYPE, "a", "bad")
    rig.nack(rig.next())
    rig.source.set(TYPE, "a", "1")
    expect(summary(rig.next())).toEqual(["a@1"])
  })

  it("is truncated to a length that can be logged", () => {
    const rig = rigWith("a")
    rig.subscribe("*")
    rig.nack(rig.next(), "x".repeat(100_000))
    expect(rig.source.acknowledgements.at(-1)?.message?.length).toBeLessThan(5_000)
  })
})

describe("a client that does not acknowledge", () => {
  it("gets the newest state after the deadline, with everything it may have missed", () => {
    const rig = rigWith("a", "b")
    rig.subscribe("*")
    rig.ack(rig.next())
    rig.source.set(TYPE, "a", "2")
    rig.source.set(TYPE, "new", "1")
    const ignored = rig.next()
    rig.source.set(TYPE, "b", "2")
    rig.source.set(TYPE, "new", undefined)
    expect(rig.next()).toBeUndefined()
    expect(rig.session.deadline).toBe(rig.clock.now + 15_000)
    rig.clock.now += 15_000
    const again = rig.next()
    expect(summary(again)).toEqual(["-new", "a@2", "b@2"])
    expect(rig.overdue).toEqual([TYPE])
    rig.ack(again)
    rig.ack(ignored)
    rig.session.wake(TYPE)
    expect(rig.next()).toBeUndefined()
  })

  it("gets reverted resources, because it may hold unacknowledged versions", () => {
    const rig = rigWith("a")
    rig.subscribe("*")
    rig.ack(rig.next())
    rig.source.set(TYPE, "a", "2")
    rig.next()
    rig.source.set(TYPE, "a", "1")
    rig.clock.now += 15_000
    expect(summary(rig.next())).toEqual(["a@1"])
  })

  it("is reported once, even without updates for it", () => {
    const rig = rigWith("a")
    rig.subscribe("*")
    rig.next()
    rig.clock.now += 20_000
    expect(rig.next()).toBeUndefined()
    expect(rig.next()).toBeUndefined()
    expect(rig.overdue).toEqual([TYPE])
    expect(rig.session.deadline).toBeUndefined()
  })

  it("and then rejects the newest gets everything uncertain with the next change", () => {
    const rig = rigWith("a", "b")
    rig.subscribe("*")
    rig.ack(rig.next())
    rig.source.set(TYPE, "a", "2")
    rig.next()
    rig.source.set(TYPE, "b", "2")
    rig.clock.now += 15_000
    rig.nack(rig.next())
    rig.source.set(TYPE, "c", "1")
    expect(summary(rig.next())).toEqual(["a@2", "b@2", "c@1"])
  })
})

describe("a hostile client", () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`)
  test.each<[string, (rig: ReturnType<typeof deltaRig>) => unknown, string]>([
    ["may not subscribe to too many names", rig => rig.subscribe(...names(101)), "RESOURCE_EXHAUSTED"],
    [
      "may not subscribe to too many names step by step",
      rig => {
        rig.subscribe(...names(60))
        return rig.subscribe(...names(120).slice(60))
      },
      "RESOURCE_EXHAUSTED",
    ],
    [
      "may not claim too many names",
      rig => rig.ask({ initialResourceVersions: Object.fromEntries(names(101).map(name => [name, "1"])) }),
      "RESOURCE_EXHAUSTED",
    ],
    ["may not send too many names", rig => rig.unsubscribe(...names(500)), "RESOURCE_EXHAUSTED"],
    [
      "may not spread too many names over types",
      rig =>
        names(5)
          .map(typeUrl => rig.ask({ typeUrl, resourceNamesSubscribe: names(100) }))
          .at(-1),
      "RESOURCE_EXHAUSTED",
    ],
    ["may not use long names", rig => rig.subscribe("x".repeat(2_000)), "INVALID_ARGUMENT"],
    [
      "may not claim long versions",
      rig => rig.ask({ initialResourceVersions: { a: "x".repeat(2_000) } }),
      "INVALID_ARGUMENT",
    ],
    ["may not omit the type", rig => rig.ask({ typeUrl: "" }), "INVALID_ARGUMENT"],
    [
      "may not open too many types",
      rig =>
        names(33)
          .map(typeUrl => rig.ask({ typeUrl }))
          .at(-1),
      "RESOURCE_EXHAUSTED",
    ],
  ])("%s", (_, act, code) => {
    expect(act(deltaRig({ namesPerType: 100, namesPerStream: 400 }))).toMatchObject({ code })
  })

  it("may subscribe to an unknown type, and gets nothing", () => {
    const rig = deltaRig()
    expect(rig.ask({ typeUrl: "unknown" })).toBeUndefined()
    expect(summary(rig.next())).toEqual([])
  })

  it("is rejected for a type that it may not subscribe to", () => {
    const rig = deltaRig()
    rig.source.rejectedTypes.set(TYPE, { code: "PERMISSION_DENIED", message: "not yours" })
    expect(rig.subscribe("*")).toEqual({ code: "PERMISSION_DENIED", message: "not yours" })
  })
})
