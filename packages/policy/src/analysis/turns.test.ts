// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { policy } from "../authorization/testing/requests.js"
import { meshConfig } from "../mesh/config.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import { analysis, analyze } from "./analyze.js"
import { Work } from "./work.js"

const mesh = meshConfig()
const rules = Array.from({ length: 200 }, (_, n): Rule => ({ to: [{ operation: { paths: [`/p${n}/{*}`] } }] }))
const documents = [policy("one", { rules }), policy("two", { action: "DENY", rules }, "bar")]
const workloads = [{ namespace: "foo", name: "w", labels: { app: "w" } }]

it("gives the same result in steps as at once", () => {
  const turns = analysis(documents, mesh, { workloads })
  let count = 0
  let last = turns.next()
  while (!last.done) {
    count++
    last = turns.next()
  }
  expect(last.value).toEqual(analyze(documents, mesh, workloads))
  // Tens of thousands of pairs: it paused within a check, not only between checks.
  expect(count).toBeGreaterThan(30)
})

it("can be stopped at any step", () => {
  const turns = analysis(documents, mesh)
  turns.next()
  expect(turns.return([])).toEqual({ done: true, value: [] })
  expect(turns.next()).toEqual({ done: true, value: undefined })
})

it("reports what it did not check on a small budget", () => {
  const codes = analyze(documents, mesh, workloads, 1_000).map(({ code }) => code)
  expect(codes).toContain("analysis-limited")
  expect(analyze(documents, mesh, workloads).map(({ code }) => code)).not.toContain("analysis-limited")
})

it("always takes small steps, whatever the documents", () => {
  const values = (letter: string) => Array.from({ length: 2_000 }, (_, n) => `/${letter}${n}/{*}/{*}/{**}`)
  const wide = policy("wide", {
    rules: [{ to: [{ operation: { paths: values("a"), notPaths: [...values("b"), ...values("a")] } }] }],
  })
  const turns = analysis([wide], mesh)
  let count = 0
  while (!turns.next().done) count++
  expect(count).toBeGreaterThan(100)
})

it("counts the work between two steps", () => {
  const work = new Work(100_000)
  expect([work.spend(9_999), work.due]).toEqual([true, false])
  expect([work.spend(1), work.due, work.due]).toEqual([true, true, false])
  expect([work.spend(90_001), work.exhausted]).toEqual([false, true])
})
