// SPDX-License-Identifier: Apache-2.0
import type { PolicyDocument } from "@merlon/policy/resources"
import { describe, expect, it } from "vitest"
import { ADVICE, Answering } from "./answering.js"
import { changesOf, document, INVARIANT, MESH, OPEN, OPS, SHADOW, slowPolicies } from "./testing/documents.js"

const never = (): boolean => false
const always = (): boolean => true

function knowing(...documents: readonly PolicyDocument[]): Answering {
  const answering = new Answering(MESH)
  answering.take(changesOf(...documents))
  return answering
}

describe("a change", () => {
  const review = (after: PolicyDocument, changed = true) => ({ ask: "review", after, changed }) as const

  it("is rejected if it breaks an invariant, with the request and the rule that allows it", () => {
    expect(knowing(OPS, INVARIANT).answer(review(OPEN), never)).toMatchObject({
      rejections: [
        expect.stringMatching(
          /`never: only ops` .* is broken on `foo\/web`: GET \/admin\/ .* is allowed by rule 0 of `foo\/open`/,
        ),
      ],
    })
  })

  it("is warned about if the invariant is in shadow mode, with what it newly allows", () => {
    expect(knowing(OPS, SHADOW).answer(review(OPEN), never)).toEqual({
      rejections: [],
      warnings: [expect.stringContaining("is broken"), expect.stringContaining("this newly allows /admin/*")],
    })
  })

  it("that does not change the meaning breaks nothing", () => {
    expect(knowing(OPS, OPEN, INVARIANT).answer(review(OPEN, false), never)).toEqual({ rejections: [], warnings: [] })
  })

  it("is rejected on a timeout, and only warned about without an enforced invariant", () => {
    expect(knowing(OPS, INVARIANT).answer(review(OPEN), always)).toMatchObject({
      rejections: [expect.stringContaining("is not decided")],
    })
    expect(knowing(OPS).answer(review(OPEN), always)).toEqual({
      rejections: [],
      warnings: [expect.stringContaining("is not decided"), ADVICE],
    })
  })

  it("that denies a path is warned about if other spellings of the path pass", () => {
    const rules = [{ to: [{ operation: { paths: ["/admin"], ports: ["8080"] } }] }]
    const deny = document("AuthorizationPolicy", "p", { action: "DENY", rules })
    expect(knowing().answer(review(deny, false), never)).toEqual({
      rejections: [],
      warnings: [
        expect.stringMatching(
          /^spec.rules.*`GET \/admin\/` does not match the rule.*`\/admin;x=1`, `\/admin%2f`, `\/ADMIN`;/,
        ),
      ],
    })
  })

  it("is compared with the other policies, and reports only its own effect", () => {
    const nobody = { selector: { matchLabels: { app: "nobody" } }, rules: [{}] }
    const other = document("AuthorizationPolicy", "other", nobody)
    const answering = knowing(other)
    const lonely = document("AuthorizationPolicy", "p", nobody)
    expect(answering.answer(review(lonely, false), never)).toEqual({
      rejections: [],
      warnings: [expect.stringMatching(/app.*nobody/)],
    })
    answering.take({
      documents: [],
      workloads: [["foo/n", { namespace: "foo", name: "n", labels: { app: "nobody" } }]],
    })
    expect(answering.answer(review(lonely, false), never)).toEqual({ rejections: [], warnings: [] })
  })

  it("is not compared if too much is stored", () => {
    const many = Array.from({ length: 501 }, (_, n) => document("AuthorizationPolicy", `m${n}`, { rules: [{}] }))
    const lonely = document("AuthorizationPolicy", "p", { selector: { matchLabels: { app: "nobody" } } })
    expect(knowing(...many).answer(review(lonely, false), never)).toEqual({ rejections: [], warnings: [] })
  })

  it("is compared with its own and the root namespace, however much others store", () => {
    const many = Array.from({ length: 501 }, (_, n) =>
      document("AuthorizationPolicy", `m${n}`, { rules: [{}] }, `ns-${n % 3}`),
    )
    const rules = [{ to: [{ operation: { methods: ["GET"] } }] }]
    const closed = { action: "DENY", rules: [{}] }
    const root = document("AuthorizationPolicy", "closed", closed, MESH.names.rootNamespace)
    const answering = knowing(...many, root)
    const received = answering.answer(review(document("AuthorizationPolicy", "p", { rules }), false), never)
    expect(received).toEqual({
      rejections: [],
      warnings: [expect.stringContaining("closed` rules[0] denies everything")],
    })
    const lonely = document("AuthorizationPolicy", "p", { selector: { matchLabels: { app: "nobody" } } })
    expect(answering.answer(review(lonely, false), never)).toMatchObject({
      warnings: [expect.stringMatching(/nobody/)],
    })
  })

  it("can be cancelled at any time, whatever the documents", () => {
    const [after, ...others] = slowPolicies("foo", 15)
    if (after === undefined) throw new Error("there is one")
    const answering = knowing(...others)
    let asked = 0
    const later = (): boolean => ++asked > 20
    answering.answer(review(after), later)
    // After cancellation in the proof, it is checked once or twice while unwinding, and at the start of the comparison.
    expect(asked).toBeGreaterThan(20)
    expect(asked).toBeLessThan(40)
  })
})

describe("an invariant", () => {
  const holds = { ask: "holds", key: "PolicyInvariant/foo/admin" } as const

  it.each([
    ["holds and is proved", [OPS, INVARIANT], never, { status: "True", reason: "Proved" }],
    [
      "is broken, with the request",
      [INVARIANT],
      never,
      { status: "False", message: expect.stringContaining("GET /admin/") },
    ],
    ["is not decided if time runs out", [OPS, INVARIANT], always, { status: "Unknown", reason: "NotDecided" }],
    ["selects no workload if it was deleted", [OPS], never, { status: "Unknown", reason: "NoWorkloads" }],
  ])("%s", (_, documents, isEnded, expected) => {
    expect(knowing(...documents).answer(holds, isEnded)).toMatchObject(expected)
  })

  it("selects no workload if there are none", () => {
    const answering = knowing(INVARIANT)
    answering.take({ documents: [], workloads: [["foo/web", undefined]] })
    expect(answering.answer(holds, never)).toMatchObject({ reason: "NoWorkloads" })
  })
})
