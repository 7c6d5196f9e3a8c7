// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { ManualClock, settle } from "../observe/testing/manual-clock.js"
import { Answering } from "../proofs/answering.js"
import { ClusterChangeQueue } from "../proofs/cluster-changes.js"
import type { NotDecided } from "../proofs/prover.js"
import type { Holds, HoldsQuestion } from "../proofs/question.js"
import { podOf } from "../registry/testing/objects.js"
import { MESH, policyOf, viewsStage } from "../snapshot/testing/views-stage.js"
import { InvariantStatus } from "./invariant-status.js"

const to = [{ operation: { paths: ["/admin/*"] } }]
const INVARIANT = { never: [{ name: "only ops", from: [{ source: { notNamespaces: ["ops"] } }], to }] }

interface Written {
  readonly conditions: readonly {
    readonly type: string
    readonly status: string
    readonly reason: string
    readonly message: string
  }[]
}

function stage() {
  const views = viewsStage()
  const clock = new ManualClock()
  const written: Written[] = []
  let leads = true
  const answering = new Answering(MESH)
  const changes = new ClusterChangeQueue({ policies: views.policies, directory: views.registry }, () => {})
  const instead: NotDecided[] = []
  const holdsNow = async (question: HoldsQuestion): Promise<Holds | NotDecided> => {
    for (let part = changes.next(); part !== undefined; part = changes.next()) answering.take(part)
    return instead.shift() ?? answering.answer(question, () => false)
  }
  const status = new InvariantStatus({
    client: {
      patch: async (_type: unknown, _name: string, patch: unknown) => {
        const value = (patch as { op: string; value: Written }[]).find(({ op }) => op === "add")?.value
        if (value !== undefined) written.push(value)
        return {} as never // the result is not used
      },
    },
    policies: views.policies,
    directory: views.registry,
    prover: { holds: holdsNow },
    mesh: MESH,
    ready: Promise.resolve(),
    isLeader: () => leads,
    warn: message => expect.unreachable(message),
    clock,
  })
  const pass = async (ms = 600): Promise<void> => {
    await settle()
    await clock.advance(ms)
    await settle()
    await clock.advance(0)
    await settle()
  }
  const leadership = (now: boolean): void => {
    leads = now
  }
  const holds = () => written.at(-1)?.conditions.find(({ type }) => type === "Holds")
  return { ...views, status, written, pass, holds, instead, lead: leadership }
}

it("reports whether invariants hold as policies and workloads change", async () => {
  const s = stage()
  s.policies.set("PolicyInvariant", policyOf("PolicyInvariant", "foo/admin", INVARIANT))
  await s.pass()
  expect(s.holds()).toMatchObject({ status: "Unknown", reason: "NoWorkloads" })
  s.registry.setPod(podOf("foo/a"))
  await s.pass()
  expect(s.holds()).toMatchObject({
    status: "False",
    reason: "Broken",
    message: expect.stringContaining("GET /admin/"),
  })
  s.policies.set(
    "AuthorizationPolicy",
    policyOf("AuthorizationPolicy", "foo/ops", { rules: [{ from: [{ source: { namespaces: ["ops"] } }] }] }),
  )
  await s.pass()
  expect(s.holds()).toMatchObject({ status: "True", reason: "Proved" })
  s.status.stop()
})

it("reports what two deletions break together although neither does alone", async () => {
  const s = stage()
  s.registry.setPod(podOf("foo/a"))
  s.policies.set("PolicyInvariant", policyOf("PolicyInvariant", "foo/admin", INVARIANT))
  const closed = { action: "DENY", rules: [{ to }] }
  for (const key of ["foo/one", "foo/two"]) {
    s.policies.set("AuthorizationPolicy", policyOf("AuthorizationPolicy", key, closed))
  }
  await s.pass()
  expect(s.holds()).toMatchObject({ status: "True" })
  s.policies.delete("AuthorizationPolicy", "foo", "one")
  await s.pass()
  expect(s.holds()).toMatchObject({ status: "True" })
  s.policies.delete("AuthorizationPolicy", "foo", "two")
  await s.pass()
  expect(s.holds()).toMatchObject({ status: "False", message: expect.stringContaining("GET /admin/") })
  s.status.stop()
})

it("writes nothing without the lease", async () => {
  const s = stage()
  s.lead(false)
  s.policies.set("PolicyInvariant", policyOf("PolicyInvariant", "foo/admin", INVARIANT))
  await s.pass()
  expect(s.written).toEqual([])
  s.status.stop()
})

it("retries after other queries, and reports an undecided result", async () => {
  const s = stage()
  s.registry.setPod(podOf("foo/a"))
  s.policies.set("PolicyInvariant", policyOf("PolicyInvariant", "foo/admin", INVARIANT))
  s.instead.push({ notDecided: "no time", gaveWay: true }, { notDecided: "the proof thread ended" })
  await s.pass()
  expect(s.written).toHaveLength(1)
  expect(s.holds()).toMatchObject({ status: "Unknown", reason: "NotDecided", message: "the proof thread ended" })
  s.status.stop()
})

it("retries later if a busy thread left it undecided", async () => {
  const s = stage()
  s.registry.setPod(podOf("foo/a"))
  s.policies.set("PolicyInvariant", policyOf("PolicyInvariant", "foo/admin", INVARIANT))
  s.instead.push({ notDecided: "the time limit was reached" }, { notDecided: "the time limit was reached" })
  await s.pass()
  expect(s.holds()).toMatchObject({ reason: "NotDecided" })
  await s.pass(5_000)
  expect(s.holds()).toMatchObject({ reason: "NotDecided" })
  await s.pass(10_000)
  expect(s.holds()).toMatchObject({ status: "False", reason: "Broken" })
  s.status.stop()
})
