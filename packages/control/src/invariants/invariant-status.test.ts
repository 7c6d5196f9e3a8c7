// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { ManualClock, settle } from "../observe/testing/manual-clock.js"
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
  const status = new InvariantStatus({
    client: {
      patch: async (_type: unknown, _name: string, patch: unknown) => {
        const value = (patch as { op: string; value: Written }[]).find(({ op }) => op === "add")?.value
        if (value !== undefined) written.push(value)
        return {} as never // nobody reads the answer
      },
    },
    policies: views.policies,
    directory: views.registry,
    mesh: MESH,
    ready: Promise.resolve(),
    isLeader: () => leads,
    warn: message => expect.unreachable(message),
    clock,
  })
  const pass = async (): Promise<void> => {
    await settle()
    await clock.advance(600)
    await settle()
  }
  const leadership = (now: boolean): void => {
    leads = now
  }
  const holds = () => written.at(-1)?.conditions.find(({ type }) => type === "Holds")
  return { ...views, status, written, pass, holds, lead: leadership }
}

it("says whether the statements hold, as policies and workloads change", async () => {
  const s = stage()
  s.policies.set("PolicyInvariant", policyOf("PolicyInvariant", "foo/admin", INVARIANT))
  await s.pass()
  expect(s.holds()).toMatchObject({ status: "True", reason: "NoWorkloads" })
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

it("is silent without the lease", async () => {
  const s = stage()
  s.lead(false)
  s.policies.set("PolicyInvariant", policyOf("PolicyInvariant", "foo/admin", INVARIANT))
  await s.pass()
  expect(s.written).toEqual([])
  s.status.stop()
})
