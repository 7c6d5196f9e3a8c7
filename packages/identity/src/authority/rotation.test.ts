// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { readBundle } from "../trust/bundle.js"
import { signerOf } from "../trust/chain.js"
import { createRoot } from "./root.js"
import { advance, bundleOf, type RotationFacts, type RotationState, servingKeys } from "./rotation.js"

const START = Date.UTC(2026, 10, 15)
const YEAR = 365 * 24 * 3_600_000
// Keys are slow to generate, so the roots for rotations are created once.
const ROOTS = Array.from({ length: 6 }, () => createRoot({ trustDomain: "a", lifetimeMs: 10 * YEAR, now: START }))
const rootAt = (index: number) => ROOTS[index % ROOTS.length] ?? createRoot({ trustDomain: "a", now: START })
const STEADY: RotationState = { phase: "steady", current: rootAt(0), since: START, demand: "" }
const DISTRIBUTE: RotationState = { ...STEADY, phase: "distribute", next: rootAt(1), demand: "1" }
const SIGN: RotationState = { ...STEADY, phase: "sign", current: rootAt(1), previous: rootAt(0), demand: "1" }
const RETIRE: RotationState = { ...STEADY, phase: "retire", current: rootAt(1), demand: "1" }

const NOTHING: RotationFacts = {
  now: START + 1000,
  demand: undefined,
  allTrust: () => false,
  allTrustOnly: () => false,
  allSignedBy: () => false,
  lastOldExpiry: START + 10_000,
  retireNow: false,
}

const known = new Map<string, readonly string[]>()
const fingerprints = (pem: string): readonly string[] => {
  const read = known.has(pem) ? undefined : readBundle(pem)
  if (read?.ok)
    known.set(
      pem,
      read.certificates.map(({ fingerprint }) => fingerprint),
    )
  return known.get(pem) ?? []
}
const signer = ({ current }: RotationState) => signerOf(current.certificateChain, current.root) ?? ""
const [FIRST = "", SECOND = ""] = [rootAt(0), rootAt(1)].flatMap(({ root }) => fingerprints(root))

describe("a rotation", () => {
  it.each<[string, RotationState, Partial<RotationFacts>, string]>([
    ["does not begin without a reason", STEADY, {}, "steady"],
    ["begins on demand", STEADY, { demand: "1" }, "distribute"],
    ["does not begin again for a demand that was met", { ...STEADY, demand: "1" }, { demand: "1" }, "steady"],
    ["does not begin while a fifth of the lifetime is left", STEADY, { now: START + 7.99 * YEAR }, "steady"],
    ["begins when less than a fifth of the lifetime is left", STEADY, { now: START + 8.01 * YEAR }, "distribute"],
    ["waits until all trust the new root", DISTRIBUTE, { allSignedBy: () => true }, "distribute"],
    ["signs once all trust the new root", DISTRIBUTE, { allTrust: () => true }, "sign"],
    ["waits until all have new certificates", SIGN, { allTrust: () => true, now: START + 10_001 }, "sign"],
    [
      "waits until the last old certificate has expired",
      SIGN,
      { allSignedBy: () => true, now: START + 10_000 },
      "sign",
    ],
    ["retires the old root after both", SIGN, { allSignedBy: () => true, now: START + 10_001 }, "retire"],
    ["retires the old root on request", SIGN, { retireNow: true }, "retire"],
    ["is not shortened before the new root signs", DISTRIBUTE, { retireNow: true }, "distribute"],
    ["waits until all have dropped the old root", RETIRE, { allTrust: () => true }, "retire"],
    ["is done when all have", RETIRE, { allTrustOnly: () => true }, "steady"],
    ["is finished before another begins", DISTRIBUTE, { demand: "2" }, "distribute"],
  ])("%s", (_, state, facts, phase) => {
    const next = advance(state, { ...NOTHING, ...facts }, () => rootAt(1))
    expect(next.phase).toBe(phase)
    if (phase === state.phase) expect(next).toBe(state)
  })

  it("asks about exactly the roots of the rotation", () => {
    const asked: unknown[] = []
    const record = (what: string) => (roots: unknown) => asked.push([what, roots]) > 0
    const facts = {
      ...NOTHING,
      now: START + 10_001,
      allTrust: record("trust"),
      allTrustOnly: record("only"),
      allSignedBy: record("signed"),
    }
    for (const state of [DISTRIBUTE, SIGN, RETIRE]) advance(state, facts, () => rootAt(2))
    expect(asked).toEqual([
      ["trust", [FIRST, SECOND]],
      ["signed", SECOND],
      ["only", [SECOND]],
    ])
  })

  it.each<[string, RotationState, readonly string[], string]>([
    ["steady", STEADY, [FIRST], FIRST],
    ["distribute", DISTRIBUTE, [FIRST, SECOND], FIRST],
    ["sign", SIGN, [SECOND, FIRST], SECOND],
    ["retire", RETIRE, [SECOND], SECOND],
  ])("in `%s` trusts the right roots", (_, state, bundle, signs) => {
    expect(fingerprints(bundleOf(state))).toEqual(bundle)
    expect(signer(state)).toBe(signs)
  })

  it("drops the old key when it retires the old root", () => {
    const next = advance(SIGN, { ...NOTHING, retireNow: true }, () => rootAt(2))
    expect(JSON.stringify(next)).not.toContain(JSON.stringify(rootAt(0).privateKey).slice(1, -1))
  })
})

// A mesh in which events happen in any order, but each proxy behaves like ours: it acknowledges only what it enforces,
// requests its certificate only over its stream, and renews when the signer changes or half its lifetime is over.
interface Proxy {
  connected: boolean
  /** Whether it has acknowledged `bundle` since it connected. */
  acknowledged: boolean
  bundle: readonly string[]
  leaf: { root: string; notAfter: number } | undefined
}

const TTL = 1000
type Event =
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "connect" | "disconnect" | "acknowledge" | "renew"; readonly proxy: number }
  | { readonly kind: "demand" }
  | { readonly kind: "advance" }
  /** Every connected proxy does its part, and then the rotation advances: the usual case. */
  | { readonly kind: "settle" }

class Mesh {
  now = START
  state: RotationState = STEADY
  demand = 0
  made = 0
  lastOldExpiry = 0
  readonly proxies: Proxy[] = Array.from({ length: 3 }, () => ({
    connected: false,
    acknowledged: false,
    bundle: [],
    leaf: undefined,
  }))

  get connected() {
    return this.proxies.filter(({ connected }) => connected)
  }

  apply(event: Event): void {
    if (event.kind === "pass") this.now += event.ms
    else if (event.kind === "demand") this.demand++
    else if (event.kind === "advance") this.advance()
    else if (event.kind === "settle") this.#settle()
    else this.#applyTo(this.proxies[event.proxy], event.kind)
  }

  #applyTo(proxy: Proxy | undefined, kind: "connect" | "disconnect" | "acknowledge" | "renew"): void {
    if (proxy === undefined) return
    if (kind === "connect" && !proxy.connected) Object.assign(proxy, { connected: true, acknowledged: false })
    else if (kind === "disconnect") proxy.connected = false
    else if (kind === "acknowledge" && proxy.connected) {
      proxy.bundle = fingerprints(bundleOf(this.state))
      proxy.acknowledged = true
    } else if (kind === "renew" && proxy.acknowledged && proxy.connected) {
      proxy.leaf = { root: signer(this.state), notAfter: this.now + TTL }
    }
  }

  #settle(): void {
    for (const kind of ["acknowledge", "renew"] as const) for (const proxy of this.proxies) this.#applyTo(proxy, kind)
    this.advance()
  }

  advance(): void {
    const before = this.state
    const acknowledged = (test: (bundle: readonly string[]) => boolean) =>
      this.connected.every(proxy => proxy.acknowledged && test(proxy.bundle))
    const facts: RotationFacts = {
      now: this.now,
      demand: String(this.demand || ""),
      allTrust: roots => acknowledged(bundle => roots.every(root => bundle.includes(root))),
      allTrustOnly: roots =>
        acknowledged(bundle => bundle.length === roots.length && roots.every(root => bundle.includes(root))),
      allSignedBy: root => this.connected.every(({ leaf }) => leaf?.root === root),
      lastOldExpiry: this.lastOldExpiry,
      retireNow: false,
    }
    this.state = advance(before, facts, () => rootAt(++this.made))
    if (before.phase === "distribute" && this.state.phase === "sign") this.lastOldExpiry = this.now + TTL
  }

  /** Proxies with a valid certificate that would not trust the control plane's. */
  lost(): readonly Proxy[] {
    const serving = fingerprints(servingKeys(this.state).root)
    return this.proxies.filter(
      ({ leaf, bundle }) =>
        leaf !== undefined && leaf.notAfter >= this.now && !serving.every(root => bundle.includes(root)),
    )
  }

  /** Pairs of proxies of which the second rejects the first. */
  rejected(): readonly (readonly [Proxy, Proxy])[] {
    const speaking = this.connected.filter(proxy => proxy.acknowledged)
    return speaking.flatMap(peer =>
      this.proxies
        .filter(({ leaf }) => leaf !== undefined && leaf.notAfter >= this.now && !peer.bundle.includes(leaf.root))
        .map(proxy => [proxy, peer] as const),
    )
  }
}

describe("any order of events during rotations", () => {
  const proxy = fc.nat({ max: 2 })
  const event: fc.Arbitrary<Event> = fc.oneof(
    fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: TTL / 2 }) }),
    fc.record({ kind: fc.constant("settle" as const) }),
    fc.record({ kind: fc.constant("settle" as const) }),
    fc.record({ kind: fc.constantFrom("connect" as const, "acknowledge" as const, "renew" as const), proxy }),
    fc.record({ kind: fc.constant("disconnect" as const), proxy }),
    fc.record({ kind: fc.constant("demand" as const) }),
    fc.record({ kind: fc.constant("advance" as const) }),
  )

  it("never rejects a valid certificate, even of a workload that was offline", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 120, size: "max" }), events => {
        const mesh = new Mesh()
        for (const next of events) {
          mesh.apply(next)
          expect(mesh.rejected(), `after ${JSON.stringify(next)} in ${mesh.state.phase}`).toEqual([])
          expect(mesh.lost(), `after ${JSON.stringify(next)} in ${mesh.state.phase}`).toEqual([])
        }
      }),
      { numRuns: 50 * inject("effort") },
    )
  })

  it("completes the rotation if proxies do their part", () => {
    const mesh = new Mesh()
    const everyone = (...kinds: readonly ("connect" | "acknowledge" | "renew")[]) => {
      for (const kind of kinds) for (const index of mesh.proxies.keys()) mesh.apply({ kind, proxy: index })
    }
    everyone("connect", "acknowledge", "renew")
    mesh.apply({ kind: "demand" })
    const phases: string[] = []
    for (let step = 0; step < 4; step++) {
      mesh.advance()
      phases.push(mesh.state.phase)
      everyone("acknowledge", "renew")
      mesh.apply({ kind: "pass", ms: TTL + 1 })
    }
    expect(phases).toEqual(["distribute", "sign", "retire", "steady"])
    expect(signer(mesh.state)).toBe(SECOND)
  })
})
