// SPDX-License-Identifier: Apache-2.0
import type { JwtRule } from "@merlon/policy/resources"
import { keySetId, parseKeySet } from "@merlon/policy/tokens"
import { afterEach, describe, expect, it, vi } from "vitest"
import { systemClock } from "../observe/clock.js"
import { ManualClock, settle } from "../observe/testing/manual-clock.js"
import { type FetchedKeySet, fetchJwks, type KeySetSource } from "./fetch-jwks.js"
import { goodKeys } from "./fetched-issuer.js"
import { FetchedKeySets, type FetchedKeySetsOptions } from "./key-set-store.js"
import type { NeededRule } from "./key-sets.js"
import { json, jwks, startIssuer, status } from "./testing/issuer.js"

const rule = (issuer: string, more: Partial<JwtRule> = {}): JwtRule => ({
  issuer,
  jwksUri: `https://${issuer}/keys`,
  ...more,
})
const idOf = (issuer: string): string => keySetId(rule(issuer))
const good = (text: string, lifetime = 1_200_000): FetchedKeySet => {
  const result = parseKeySet(text)
  if (!result.ok) throw new Error(result.error.message)
  return { ok: true, jwks: text, keySet: result.keySet, lifetime }
}
const bad: FetchedKeySet = { ok: false, error: "answered 500" }

const open: FetchedKeySets[] = []
afterEach(() => {
  for (const store of open.splice(0)) store.close()
})

const inFoo = (rules: readonly JwtRule[]): readonly NeededRule[] => rules.map(rule => ({ rule, namespace: "foo" }))

/** A store with fake issuers: each fetch waits until the test answers it. */
function rig(options: Partial<FetchedKeySetsOptions> = {}) {
  const clock = new ManualClock()
  const pending: { source: KeySetSource; signal: AbortSignal; answer: (result: FetchedKeySet) => Promise<void> }[] = []
  const changes: string[] = []
  const store = new FetchedKeySets({
    clock,
    random: () => 0,
    fetch: (source, signal) =>
      new Promise(resolve => {
        const answer = async (result: FetchedKeySet): Promise<void> => {
          resolve(result)
          await settle()
        }
        pending.push({ source, signal, answer })
      }),
    ...options,
  })
  open.push(store)
  store.onChange((id, change) => changes.push(`${JSON.parse(id)[0]} ${change.jwks ? "keys" : "state"}`))
  const next = () => {
    const fetch = pending.shift()
    if (fetch === undefined) throw new Error("nobody fetches")
    return fetch
  }
  return { clock, pending, changes, store, next }
}

describe("refreshing", () => {
  it("fetches at once, then when the keys' lifetime ends", async () => {
    const { clock, pending, changes, store, next } = rig()
    store.need(inFoo([rule("a")]))
    const text = jwks("k")
    await next().answer(good(text, 600_000))
    expect(store.get(idOf("a"))).toEqual({
      id: idOf("a"),
      jwks: text,
      keys: 1,
      fetchedAt: clock.now(),
      nextFetchAt: clock.now() + 600_000,
      error: undefined,
    })
    await clock.advance(599_999)
    expect(pending).toHaveLength(0)
    await clock.advance(1)
    await next().answer(good(text, 600_000))
    expect(changes).toEqual(["a keys", "a state"])
  })

  it("notifies of changed keys, and keeps the old text if only the spelling differs", async () => {
    const { clock, changes, store, next } = rig()
    store.need(inFoo([rule("a")]))
    const text = jwks("k", "l")
    await next().answer(good(text))
    await clock.advance(1_200_000)
    await next().answer(good(JSON.stringify({ keys: JSON.parse(text).keys.reverse() }, undefined, 1)))
    expect(store.get(idOf("a"))?.jwks).toBe(text)
    await clock.advance(1_200_000)
    const rotated = jwks("m")
    await next().answer(good(rotated))
    expect(store.get(idOf("a"))?.jwks).toBe(rotated)
    expect(changes).toEqual(["a keys", "a state", "a keys"])
  })

  it("spreads refreshes over a tenth of the lifetime", async () => {
    const { clock, store, next } = rig({ random: () => 1 })
    store.need(inFoo([rule("a")]))
    await next().answer(good(jwks("k"), 600_000))
    expect(clock.next).toBe(540_000)
  })

  it("is not affected by setting the wall clock", async () => {
    const { clock, pending, store, next } = rig()
    store.need(inFoo([rule("a")]))
    await next().answer(good(jwks("k"), 600_000))
    clock.setWall(0)
    await clock.advance(599_999)
    clock.setWall(Date.UTC(2050, 0, 1))
    expect(pending).toHaveLength(0)
    await clock.advance(1)
    expect(pending).toHaveLength(1)
  })
})

describe("failures", () => {
  it("keep the last good keys and are retried with growing delays of up to five minutes", async () => {
    const { clock, store, next } = rig()
    store.need(inFoo([rule("a")]))
    const text = jwks("k")
    await next().answer(good(text))
    await clock.advance(1_200_000)
    const waits: (number | undefined)[] = []
    for (let attempt = 0; attempt < 11; attempt++) {
      await next().answer(bad)
      expect(store.get(idOf("a"))).toMatchObject({ jwks: text, keys: 1, error: "answered 500" })
      waits.push(clock.next)
      await clock.advance(clock.next ?? 0)
    }
    expect(waits.map(wait => (wait ?? 0) / 1_000)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    await next().answer(good(text))
    expect(store.get(idOf("a"))).toMatchObject({ jwks: text, error: undefined })
  })

  it("include fetches that throw", async () => {
    const { clock, store } = rig({ fetch: () => Promise.reject(new Error("broken")) })
    store.need(inFoo([rule("a")]))
    await settle()
    expect(store.get(idOf("a"))).toMatchObject({ jwks: undefined, error: "broken" })
    expect(clock.next).toBe(1_000)
  })
})

describe("isolation", () => {
  it("one hanging issuer delays no other", async () => {
    const { changes, store, next } = rig()
    store.need(inFoo([rule("hangs"), rule("b"), rule("c")]))
    const hanging = next()
    await next().answer(good(jwks("k")))
    await next().answer(good(jwks("k")))
    expect(changes).toEqual(["b keys", "c keys"])
    expect(hanging.signal.aborted).toBe(false)
  })

  it("limits concurrent fetches", async () => {
    const { pending, store, next } = rig({ maxConcurrentFetches: 2 })
    store.need(inFoo(["a", "b", "c"].map(name => rule(name))))
    expect(pending).toHaveLength(2)
    await next().answer(bad)
    expect(pending.map(({ source }) => source.issuer)).toEqual(["b", "c"])
  })

  it("limits the key sets, and reports those beyond the limit", () => {
    const { pending, store } = rig({ limits: { total: 1 } })
    store.need(inFoo([rule("a"), rule("b")]))
    expect(pending).toHaveLength(1)
    expect(store.get(idOf("b"))?.error).toBe("more than 1 key sets are needed; remove rules, or raise the limit")
    store.need(inFoo([rule("b")]))
    expect(store.get(idOf("b"))?.error).toBeUndefined()
  })
})

describe("a needed key set", () => {
  it("is fetched once per issuer and URI, with the longest timeout of its rules", () => {
    const { pending, store } = rig()
    store.need(
      inFoo([rule("a", { timeout: "2s" }), rule("a", { timeout: "9s" }), rule("a", { timeout: "1h" }), rule("b")]),
    )
    expect(pending.map(({ source }) => [source.issuer, source.timeoutMs])).toEqual([
      ["a", 60_000],
      ["b", 5_000],
    ])
  })

  it("is not fetched for a rule with inline keys", () => {
    const { pending, store } = rig()
    store.need(inFoo([{ issuer: "a", jwks: jwks("k") }]))
    expect(pending).toEqual([])
  })

  it("is forgotten once it is no longer needed, with its fetch and timers", async () => {
    const { clock, pending, store, next } = rig()
    store.need(inFoo([rule("a"), rule("b")]))
    const a = next()
    await next().answer(good(jwks("k")))
    store.need(inFoo([]))
    expect(a.signal.aborted).toBe(true)
    await a.answer(good(jwks("late")))
    expect([store.get(idOf("a")), store.get(idOf("b"))]).toEqual([undefined, undefined])
    expect([clock.pending, pending.length]).toEqual([0, 0])
  })
})

describe("reports of an unknown key", () => {
  async function ready() {
    const parts = rig()
    parts.store.need(inFoo([rule("a")]))
    await parts.next().answer(good(jwks("k")))
    return { ...parts, report: () => parts.store.reportUnknownKey(idOf("a")) }
  }

  it("fetch at once, and only once", async () => {
    const { pending, report } = await ready()
    for (let i = 0; i < 1_000; i++) report()
    expect(pending).toHaveLength(1)
  })

  it("fetch again only after 30 s, once, and only if there was another report", async () => {
    const { clock, pending, report, next } = await ready()
    report()
    await next().answer(good(jwks("k")))
    await clock.advance(10_000)
    for (let i = 0; i < 1_000; i++) report()
    await clock.advance(19_999)
    expect(pending).toHaveLength(0)
    await clock.advance(1)
    await next().answer(good(jwks("k")))
    await clock.advance(60_000)
    expect(pending).toHaveLength(0)
  })

  it("are answered by a refresh that happens anyway", async () => {
    const { clock, pending, report, next } = await ready()
    report()
    await next().answer(good(jwks("k"), 5_000))
    report()
    await clock.advance(5_000)
    await next().answer(good(jwks("m")))
    await clock.advance(30_000)
    expect(pending).toHaveLength(0)
  })

  it("of a key set that is not needed do nothing", () => {
    const { pending, store } = rig()
    store.reportUnknownKey("nonsense")
    expect(pending).toEqual([])
  })
})

describe("keys from before a restart", () => {
  it("are used until the issuer has answered", async () => {
    const text = jwks("k")
    const kept = goodKeys(text, 1_000)
    const persisted = Promise.resolve(new Map(kept === undefined ? [] : [[idOf("a"), kept]]))
    const { changes, store, next } = rig({ persisted })
    store.need(inFoo([rule("a")]))
    await settle()
    expect(store.get(idOf("a"))).toMatchObject({ jwks: text, fetchedAt: 1_000 })
    await next().answer(bad)
    expect(store.get(idOf("a"))).toMatchObject({ jwks: text, error: "answered 500" })
    expect(changes).toEqual(["a keys", "a state"])
  })

  it("are used if they are read before they are needed", async () => {
    const kept = goodKeys(jwks("k"), 1_000)
    const { store } = rig({ persisted: Promise.resolve(new Map(kept === undefined ? [] : [[idOf("a"), kept]])) })
    await store.loaded
    store.need(inFoo([rule("a")]))
    expect(store.get(idOf("a"))?.keys).toBe(1)
  })

  it("take precedence over issuers that never answered if there are too many", async () => {
    const kept = goodKeys(jwks("k"), 1_000)
    const persisted = Promise.resolve(new Map(kept === undefined ? [] : [[idOf("z"), kept]]))
    const { store } = rig({ persisted, limits: { total: 1 } })
    await store.loaded
    store.need(inFoo([rule("a"), rule("z")]))
    expect(store.get(idOf("z"))?.keys).toBe(1)
    expect(store.get(idOf("a"))?.error).toContain("more than 1 key sets")
  })

  it("never replace keys that were fetched since", async () => {
    let load: (kept: ReadonlyMap<string, never>) => void = () => undefined
    const { store, next } = rig({
      persisted: new Promise(resolve => {
        load = resolve
      }),
    })
    store.need(inFoo([rule("a")]))
    const text = jwks("new")
    await next().answer(good(text))
    load(new Map([[idOf("a"), goodKeys(jwks("old"), 0) as never]]))
    await settle()
    expect(store.get(idOf("a"))?.jwks).toBe(text)
  })

  it("may be unreadable", async () => {
    const { store, next } = rig({ persisted: Promise.reject(new Error("no cluster")) })
    store.need(inFoo([rule("a")]))
    await next().answer(good(jwks("k")))
    expect(store.get(idOf("a"))?.keys).toBe(1)
  })
})

it("follows a real issuer through failure, recovery and rotation", async () => {
  const issuer = await startIssuer(status(500))
  const store = new FetchedKeySets({
    fetch: (source, signal) => fetchJwks(source, signal, { clock: systemClock, allowLoopback: true }),
  })
  open.push(store)
  try {
    const real = { issuer: "real", jwksUri: `${issuer.url}/keys` }
    const state = () => store.get(keySetId(real))
    store.need(inFoo([real]))
    await vi.waitFor(() => expect(state()?.error).toBe(`${issuer.url}/keys answered 500`), 90_000)
    const first = jwks("one")
    issuer.answer = json(first)
    await vi.waitFor(() => expect(state()).toMatchObject({ jwks: first, error: undefined }), 90_000)
    const second = jwks("two")
    issuer.answer = json(second)
    store.reportUnknownKey(keySetId(real))
    await vi.waitFor(() => expect(state()?.jwks).toBe(second), 90_000)
  } finally {
    await issuer.close()
  }
})

it("fetches a namespace's keys while a thousand issuers of another do not respond", async () => {
  const { store, pending } = rig({ limits: { total: 20, perNamespace: 5 }, maxConcurrentFetches: 1_000 })
  const dead = Array.from({ length: 1_000 }, (_, index) => ({ rule: rule(`dead-${index}`), namespace: "evil" }))
  store.need([...dead, { rule: rule("live"), namespace: "app" }])
  expect(pending.map(({ source }) => source.issuer)).toContain("live")
  expect(pending).toHaveLength(6)
  expect(store.get(keySetId(rule("dead-5")))?.error).toContain("the namespace `evil` uses more than 5 key sets")
})
