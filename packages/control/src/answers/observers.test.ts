// SPDX-License-Identifier: Apache-2.0
// A proxy can fill the ledger with calls to its own workload, and cannot report calls to any other.

import type { ObservedCall } from "@merlon/policy/ledger"
import type { PolicyDocument } from "@merlon/policy/resources"
import type { CalledDestination, Inquiry } from "@merlon/xds"
import { describe, expect, it } from "vitest"
import { policyOf, viewsStage } from "../snapshot/testing/views-stage.js"
import { CallLedger } from "./call-ledger.js"
import { Observers } from "./observers.js"

const NOW = 5_000

const call = (part: Partial<ObservedCall> = {}): ObservedCall => ({
  ...{ address: "10.0.0.1", workload: "foo/caller", port: 80, protocol: "tcp", tls: false },
  ...{ verdict: "allow", stage: "allow", firstSeen: 1_000, lastSeen: 2_000, count: 1 },
  ...part,
})

function stage() {
  const views = viewsStage()
  const ledger = new CallLedger({
    client: { get: () => new Promise(() => undefined) } as never, // an API that does not answer: nothing is written
    names: { mesh: "merlon", domain: "merlon.dev", rootNamespace: "merlon-system" } as never, // only what is read
    stored: { items: new Map() } as never, // nothing is stored
    owners: async () => [],
    warn: message => expect.unreachable(message),
    paceMs: 3_600_000,
  })
  const observers = new Observers({
    ledger,
    policies: views.policies,
    directory: views.registry,
    takesCalls: proxy => proxy === "foo/a",
    answerMs: 60_000,
    mayReportFor: (_, node) => node === "foo/a" || node === "foo/old",
    rootNamespace: "merlon-system",
    now: () => NOW,
  })
  const asked: Inquiry[] = []
  const open = (node: string) => observers.open({} as never, node, inquiry => asked.push(inquiry)) // no caller needed
  const session = open("foo/a")
  if ("code" in session) throw new Error(session.message)
  const notify = (sequence: number, ...calls: readonly ObservedCall[]): void =>
    session.onObservation({ kind: "calls", run: "r", sequence, calls, forgotten: 0 })
  return { ...views, ledger, observers, session, asked, open, notify }
}

it("rejects a proxy that reports in the name of another", () => {
  expect(stage().open("foo/b")).toMatchObject({ code: "PERMISSION_DENIED" })
})

it("attributes calls to the workload of the reporting proxy", () => {
  const { notify, ledger } = stage()
  notify(1, call({ workload: "bar/other" }))
  expect(ledger.calls().map(({ workload }) => workload)).toEqual(["foo/a"])
})

it("limits times in the future to now", () => {
  const { notify, ledger } = stage()
  notify(1, call({ firstSeen: NOW + 1, lastSeen: Number.MAX_SAFE_INTEGER }))
  expect(ledger.calls()).toMatchObject([{ firstSeen: NOW, lastSeen: NOW }])
})

it("keeps one batch of a proxy at a time", () => {
  const { notify, ledger } = stage()
  for (let sequence = 1; sequence <= 100; sequence++) notify(sequence, call({ port: sequence }))
  expect(ledger.calls()).toHaveLength(1)
})

it("counts only rules that can apply to the proxy's namespace", () => {
  const { notify, ledger, policies } = stage()
  for (const key of ["foo/own", "merlon-system/all", "bar/others"]) {
    const spec: PolicyDocument["spec"] = { rules: [{}] }
    policies.set("AuthorizationPolicy", policyOf("AuthorizationPolicy", key, spec))
  }
  notify(1, ...["foo/own", "merlon-system/all", "bar/others"].map(policy => call({ rule: { policy, rule: 0 } })))
  const used = [...ledger.rules().values()].map(({ policy }) => policy)
  expect(used.sort()).toEqual(["AuthorizationPolicy/foo/own", "AuthorizationPolicy/merlon-system/all"])
})

describe("a query for called destinations", () => {
  const CALLED: CalledDestination = {
    ...{ destination: "web.app:80", inMesh: true, transport: "mtls", count: 1, failures: 0, firstSeen: 1, lastSeen: 2 },
  }

  it("goes only to proxies that handle calls, and attributes answers to them", async () => {
    const { observers, session, asked, open } = stage()
    open("foo/old")
    const answer = observers.destinations(() => true)
    expect(asked).toEqual([{ kind: "destinations", inquiry: 1 }])
    session.onObservation({ kind: "destinations", inquiry: 1, destinations: [CALLED] })
    expect(await answer).toEqual({ destinations: [{ proxy: "foo/a", called: CALLED }], asked: 1, known: 1 })
  })

  it("has no result if a proxy answers something else or disconnects", async () => {
    const { observers, session } = stage()
    const first = observers.destinations(() => true)
    session.onObservation({ kind: "answer", inquiry: 1, decisions: [] })
    expect((await first).destinations).toEqual([])
    const second = observers.destinations(() => true)
    session.onObservation({ kind: "destinations", inquiry: 1, destinations: [CALLED] })
    session.closed()
    expect((await second).destinations).toEqual([])
  })

  it("does not go to other proxies", async () => {
    const { observers, asked } = stage()
    expect(await observers.destinations(() => false)).toEqual({ destinations: [], asked: 0, known: 0 })
    expect(asked).toEqual([])
  })
})
