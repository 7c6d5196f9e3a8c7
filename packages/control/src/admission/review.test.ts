// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readReview, writeReview } from "./review.js"
import { question, reviewBody } from "./testing/requests.js"

const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } }

describe("reading a review", () => {
  it("keeps the request", () => {
    const asked = question(pod, { operation: "UPDATE", oldObject: pod })
    expect(readReview(JSON.stringify(reviewBody(asked)))).toEqual(asked)
  })

  const valid = reviewBody(question(pod))
  const request = (change: object) => ({ ...valid, request: { ...valid.request, ...change } })
  it.each<[string, unknown, RegExp]>([
    ["another kind", { kind: "Pod" }, /not an AdmissionReview/],
    ["another version", { ...valid, apiVersion: "admission.k8s.io/v1beta1" }, /only `admission.k8s.io\/v1`/],
    ["a missing request", { ...valid, request: null }, /request.uid/],
    ["a list as request", { ...valid, request: [] }, /request.uid/],
    ["an endless uid", request({ uid: "u".repeat(1000) }), /request.uid/],
    ["an unknown operation", request({ operation: "PATCH" }), /request.operation/],
    ["a missing kind", request({ kind: { group: 1 } }), /request.kind/],
  ])("rejects %s", (_, body, message) => {
    expect(readReview(JSON.stringify(body))).toMatch(message)
  })

  it("never throws, for any input", () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), body => void readReview(body)))
    fc.assert(fc.property(fc.jsonValue(), value => void readReview(JSON.stringify({ ...valid, request: value }))))
  })
})

describe("writing a review", () => {
  const response = (answer: Parameters<typeof writeReview>[1]) =>
    (JSON.parse(writeReview("u", answer)) as { response: Record<string, unknown> }).response // our own format

  it("deduplicates, shortens and limits warnings", () => {
    const warnings = ["a\n b", "a b", "x".repeat(400), ...Array.from({ length: 20 }, (_, at) => `w${at}`)]
    const shown = response({ warnings }).warnings as string[] // our own format
    expect(shown.slice(0, 2)).toEqual(["a b", `${"x".repeat(255)}…`])
    expect(shown).toHaveLength(13)
    expect(shown.at(-1)).toBe("and 10 more")
    expect(shown.join("").length).toBeLessThan(4096)
  })

  it("never sends a patch with a rejection", () => {
    const patch = [{ op: "add" as const, path: "/a", value: 1 }]
    expect(response({ patch })).toMatchObject({ allowed: true, patchType: "JSONPatch" })
    const rejected = response({
      patch,
      rejected: { error: "invalid-policy", code: 422, reason: "Invalid", message: "no" },
    })
    expect(rejected).toEqual({
      uid: "u",
      allowed: false,
      status: { status: "Failure", code: 422, reason: "Invalid", message: "no [invalid-policy]" },
    })
  })
})
