// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { ManualClock, settle } from "../observe/testing/manual-clock.js"
import { podOf } from "../registry/testing/objects.js"
import { policyOf, viewsStage } from "../snapshot/testing/views-stage.js"
import { PROOF_BUDGET_MS } from "./proof-budgets.js"
import { type NotDecided, type ProofOutcome, Prover } from "./prover.js"
import { startThread } from "./start-thread.js"
import { document, MESH } from "./testing/documents.js"
import { ManualThread } from "./testing/manual-thread.js"

const review = (namespace: string) =>
  ({
    ask: "review",
    after: document("AuthorizationPolicy", "p", { rules: [{}] }, namespace),
    changed: true,
  }) as const

async function stage({ ready = true } = {}) {
  const { policies, registry } = viewsStage()
  policies.set("AuthorizationPolicy", policyOf("AuthorizationPolicy", "foo/a", { rules: [{}] }))
  const clock = new ManualClock()
  const threads: ManualThread[] = []
  const outcomes: ProofOutcome[] = []
  const prover = new Prover({
    budgetMs: PROOF_BUDGET_MS,
    mesh: MESH,
    policies,
    directory: registry,
    clock,
    start: ended => {
      const thread = new ManualThread(ended)
      threads.push(thread)
      return thread
    },
    observe: outcome => outcomes.push(outcome),
  })
  const thread = (): ManualThread => {
    const last = threads.at(-1)
    if (last === undefined) throw new Error("there is one")
    return last
  }
  const begin = async (): Promise<void> => {
    thread().say({ ready: true })
    await settle()
  }
  if (ready) await begin()
  return { prover, clock, threads, thread, begin, outcomes, policies, registry }
}

it("sends the cluster to a thread, queries it and returns the answer", async () => {
  const s = await stage()
  expect(s.thread().changes).toBe(1)
  const answer = s.prover.review(review("foo"))
  s.thread().answer()
  expect(await answer).toEqual({ rejections: [], warnings: ["answer 1"] })
  s.policies.set("AuthorizationPolicy", policyOf("AuthorizationPolicy", "foo/b", { rules: [{}] }))
  await settle()
  expect(s.thread().changes).toBe(2)
  expect(s.outcomes).toEqual(["answered"])
})

it("cancels a query in time for a partial answer, within the budget", async () => {
  const s = await stage()
  const answer = s.prover.review(review("foo"))
  await s.clock.advance(PROOF_BUDGET_MS - 31)
  expect(s.thread().cancelled).toBe(0)
  await s.clock.advance(1)
  expect(s.thread().cancelled).toBe(1)
  await s.clock.advance(30)
  expect(await answer).toEqual({ notDecided: "the time limit was reached" })
  expect(s.outcomes).toEqual(["not_decided"])
})

it("terminates a stuck thread and gives a new one the full state", async () => {
  const s = await stage()
  const first = s.thread()
  void s.prover.review(review("evil"))
  await s.clock.advance(PROOF_BUDGET_MS - 30 + 5_000)
  expect([first.ended, s.threads.length]).toEqual([true, 2])
  await s.begin()
  expect(s.thread().changes).toBe(1)
  const answer = s.prover.review(review("foo"))
  s.thread().answer()
  expect(await answer).toMatchObject({ warnings: ["answer 2"] })
  expect(s.outcomes).toEqual(["not_decided", "killed", "answered"])
})

it("waits before it restarts a thread that cannot start", async () => {
  const s = await stage({ ready: false })
  s.thread().terminate()
  await s.prover.ready()
  expect(s.threads).toHaveLength(1)
  const answer = s.prover.review(review("foo"))
  await s.clock.advance(PROOF_BUDGET_MS)
  expect(await answer).toMatchObject({ notDecided: expect.any(String) })
  await s.clock.advance(5_000)
  expect(s.threads).toHaveLength(2)
})

it("interrupts a slow query for another namespace, not for its own", async () => {
  const s = await stage()
  void s.prover.review(review("evil"))
  void s.prover.review(review("evil"))
  await s.clock.advance(100)
  expect(s.thread().cancelled).toBe(0)
  const emergency = s.prover.review(review("ops"))
  await s.clock.advance(0)
  expect(s.thread().cancelled).toBe(1)
  s.thread().answer()
  // The second query of the tenant arrived first; its turn is short too.
  await s.clock.advance(60)
  expect(s.thread().cancelled).toBe(2)
  s.thread().answer()
  expect(s.thread().asked).toHaveLength(3)
  s.thread().answer()
  expect(await emergency).toMatchObject({ warnings: ["answer 3"] })
})

it("answers the root namespace first", async () => {
  const s = await stage()
  for (const namespace of ["a", "b", "c"]) void s.prover.review(review(namespace))
  void s.prover.review(review(MESH.names.rootNamespace))
  s.thread().answer()
  const [, second] = s.thread().asked
  expect(second?.question).toMatchObject({ after: { metadata: { namespace: MESH.names.rootNamespace } } })
})

it("answers no query of a namespace without budget, and those of others as before", async () => {
  const s = await stage()
  for (let turn = 0; turn < 2; turn++) {
    void s.prover.review(review("evil"))
    await s.clock.advance(PROOF_BUDGET_MS - 30)
    s.thread().answer()
  }
  expect(s.thread().asked).toHaveLength(2)
  expect(await s.prover.review(review("evil"))).toEqual({ notDecided: "the time limit was reached" })
  expect(s.thread().asked).toHaveLength(2)
  void s.prover.review(review("foo"))
  expect(s.thread().asked).toHaveLength(3)
})

it("reports that a status query yielded to others, so that it is retried", async () => {
  const s = await stage()
  const holds = s.prover.holds({ ask: "holds", key: "PolicyInvariant/foo/admin" }, "foo")
  void s.prover.review(review("foo"))
  await s.clock.advance(60)
  const [first] = s.thread().asked
  s.thread().say({ id: first?.id ?? 0, answer: { status: "Unknown", reason: "NotDecided", message: "no time" } })
  expect(await holds).toEqual({ notDecided: "no time", gaveWay: true } satisfies NotDecided)
})

it("reports a query on which the thread failed as not decided", async () => {
  const s = await stage()
  const answer = s.prover.review(review("foo"))
  s.thread().say({ id: 1, failed: "broken" })
  expect(await answer).toEqual({ notDecided: "broken" })
  expect(s.outcomes).toEqual(["failed", "not_decided"])
})

it("works with a real thread", async () => {
  const { policies, registry } = viewsStage()
  registry.setPod(podOf("foo/web"))
  const prover = new Prover({
    budgetMs: PROOF_BUDGET_MS,
    mesh: MESH,
    policies,
    directory: registry,
    // The clock does not advance, so no query times out, also on a busy machine.
    clock: new ManualClock(),
    start: ended => startThread({ mesh: MESH, ended }),
  })
  await prover.ready()
  policies.set("AuthorizationPolicy", policyOf("AuthorizationPolicy", "foo/one", { rules: [{}] }))
  const after = document("AuthorizationPolicy", "closed", { action: "DENY", rules: [{}] })
  const lonely = document("AuthorizationPolicy", "lonely", { selector: { matchLabels: { app: "nobody" } } })
  expect(await prover.review({ ask: "review", after, changed: true })).toMatchObject({ rejections: [] })
  expect(await prover.review({ ask: "review", after: lonely, changed: true })).toMatchObject({
    warnings: [expect.stringMatching(/nobody/)],
  })
  await prover.stop()
})

it("gives the root namespace a budget of its own", async () => {
  const s = await stage()
  const root = s.prover.review(review(MESH.names.rootNamespace))
  const tenant = s.prover.review(review("foo"))
  await s.clock.advance(PROOF_BUDGET_MS)
  expect(await tenant).toEqual({ notDecided: "the time limit was reached" })
  expect(s.thread().cancelled).toBe(0)
  s.thread().answer()
  expect(await root).toMatchObject({ warnings: ["answer 1"] })
})
