// SPDX-License-Identifier: Apache-2.0
import { meshConfig } from "@merlon/policy/mesh"
import { beforeEach, describe, expect, it } from "vitest"
import { question } from "../admission/testing/requests.js"
import { CONFIG_MAPS, type KubernetesObject, NAMESPACES } from "../kubernetes/resource-type.js"
import { ManualClock } from "../observe/testing/manual-clock.js"
import { MemoryClient } from "../observe/testing/memory-client.js"
import { StoredPolicies } from "../policies/stored-policies.js"
import type { Prover } from "../proofs/prover.js"
import { brokenLinks } from "./chain.js"
import { ChangeRecorder } from "./change-recorder.js"
import { documentsAt } from "./documents-at.js"
import { HistoryStore } from "./history-store.js"
import { bodyDigest, bodyOf } from "./policy-body.js"

const { names } = meshConfig()
const NOTE = { digest: "d", size: 1 }
const EFFECT = { allowed: [{ region: "any request", workloads: ["foo/web"] }], denied: [] }

const ROLE = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "merlond", uid: "r" }
const owners = async () => [ROLE]

const policy = (path: string, generation = 1): KubernetesObject => ({
  apiVersion: `${names.securityGroup}/${names.version}`,
  kind: "AuthorizationPolicy",
  metadata: { name: "one", namespace: "foo", uid: "u1", generation, creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { rules: [{ to: [{ operation: { paths: [path] } }] }] },
})

let client: MemoryClient
let clock: ManualClock
let policies: StoredPolicies
let warnings: string[]
let store: HistoryStore

type Answer = Awaited<ReturnType<Prover["effect"]>>

function recorderOf(answer: Answer = { effect: EFFECT, evidence: { note: NOTE } }): ChangeRecorder {
  const prover = { effect: async () => answer }
  return new ChangeRecorder({ names, policies, prover, store, clock, warn: message => warnings.push(message) })
}

beforeEach(() => {
  client = new MemoryClient()
  client.put(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: "foo" } })
  clock = new ManualClock()
  policies = new StoredPolicies({ names, onInvalid: () => undefined })
  warnings = []
  const warn = (message: string) => warnings.push(message)
  store = new HistoryStore({ client, names, maxEntries: 200, warn, owners, now: () => clock.now() })
})

const update = (from: KubernetesObject, to: KubernetesObject, user = "jane") =>
  question(to, { operation: "UPDATE", oldObject: from, user })

describe("the recorder", () => {
  it("records who changed what, and the effect", async () => {
    const recorder = recorderOf()
    recorder.admitted(question(policy("/a")))
    policies.set("AuthorizationPolicy", policy("/a"))
    recorder.admitted(update(policy("/a"), policy("/b", 2), "kim"))
    policies.set("AuthorizationPolicy", policy("/b", 2))
    recorder.admitted(
      question(policy("/b", 2), { operation: "DELETE", object: null, oldObject: policy("/b", 2), user: "lee" }),
    )
    policies.delete("AuthorizationPolicy", "foo", "one")
    await recorder.stop()
    const { entries } = await store.read("foo")
    expect(entries.map(({ user, operation, generation }) => [user, operation, generation])).toEqual([
      ["jane", "create", 1],
      ["kim", "update", 2],
      ["lee", "delete", 2],
    ])
    expect(entries[0]).toMatchObject({ difference: EFFECT, certificate: NOTE })
    expect(entries[1]?.before).toBe(entries[0]?.after)
    expect(brokenLinks(entries)).toEqual([])
    expect(client.objects.get("configmaps/merlon-system/merlon-history-foo")?.metadata.ownerReferences).toEqual([ROLE])
  })

  it("starts a new history for a new namespace of the same name", async () => {
    const recorder = recorderOf()
    recorder.admitted(question(policy("/a")))
    policies.set("AuthorizationPolicy", policy("/a"))
    await clock.advance(0)
    client.put(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: "foo", uid: "another" } })
    recorder.admitted(update(policy("/a"), policy("/b", 2), "kim"))
    policies.set("AuthorizationPolicy", policy("/b", 2))
    await recorder.stop()
    expect((await store.read("foo")).entries.map(({ user, sequence }) => [user, sequence])).toEqual([["kim", 1]])
  })

  it.each([
    ["is a dry run", question(policy("/a"), { dryRun: true })],
    ["is never stored", question(policy("/other"))],
    ["is of a subresource", question(policy("/a"), { subresource: "status" })],
    ["does not change the meaning", update(policy("/a"), policy("/a"))],
    ["is of a kind that decides no request", question({ ...policy("/a"), kind: "MeshService" })],
  ])("does not record a change that %s", async (_, request) => {
    const recorder = recorderOf()
    recorder.admitted(request)
    policies.set("AuthorizationPolicy", policy("/a"))
    await recorder.stop()
    expect(client.writes).toEqual([])
  })

  it("records nothing for a create that is rejected because the policy exists", async () => {
    policies.set("AuthorizationPolicy", policy("/a"))
    const recorder = recorderOf()
    recorder.admitted(question(policy("/a")))
    policies.set("AuthorizationPolicy", { ...policy("/a"), status: { conditions: [] } })
    await recorder.stop()
    expect(client.writes).toEqual([])
  })

  it("names no user for a change that was stored long after it was admitted", async () => {
    const recorder = recorderOf()
    recorder.admitted(question(policy("/a")))
    await clock.advance(31_000)
    policies.set("AuthorizationPolicy", policy("/a"))
    await recorder.stop()
    expect(client.writes).toEqual([])
  })

  it("names no user if two users asked for the same change", async () => {
    const recorder = recorderOf()
    recorder.admitted(question(policy("/a"), { user: "jane" }))
    recorder.admitted(question(policy("/a"), { user: "kim" }))
    policies.set("AuthorizationPolicy", policy("/a"))
    await recorder.stop()
    const { entries } = await store.read("foo")
    expect(entries).toHaveLength(1)
    expect(entries[0]).not.toHaveProperty("user")
  })

  it("records that a difference is undecided", async () => {
    const recorder = recorderOf({ notDecided: "the time limit was reached" })
    recorder.admitted(question(policy("/a")))
    policies.set("AuthorizationPolicy", policy("/a"))
    await recorder.stop()
    expect((await store.read("foo")).entries[0]).toMatchObject({
      difference: { allowed: [], denied: [], undecided: "the time limit was reached" },
      certificate: { missing: "the difference is not decided" },
    })
  })

  it("retries an entry that the API rejects, and logs it", async () => {
    const recorder = recorderOf()
    let fail = true
    client.beforeWrite = () => {
      if (fail) throw new Error("away")
    }
    recorder.admitted(question(policy("/a")))
    policies.set("AuthorizationPolicy", policy("/a"))
    await clock.advance(0)
    expect(warnings).toEqual(["the history of namespace `foo` lacks 1 changes: away; retrying"])
    expect((await store.read("foo")).entries).toEqual([])
    fail = false
    await clock.advance(5_000)
    expect((await store.read("foo")).entries).toHaveLength(1)
    await recorder.stop()
  })

  it("appends to entries that another replica wrote in between", async () => {
    const other = new HistoryStore({ client, names, maxEntries: 200, owners, warn: () => undefined, now: () => 0 })
    const recorder = recorderOf()
    recorder.admitted(question(policy("/a")))
    policies.set("AuthorizationPolicy", policy("/a"))
    await clock.advance(0)
    const { entries: written } = await store.read("foo")
    const [first] = written
    if (first === undefined) throw new Error("nothing was recorded")
    const { sequence: _, digest: __, previous: ___, ...facts } = first
    let isFirst = true
    client.beforeWrite = async ({ verb }) => {
      if (verb !== "replace" || !isFirst) return
      isFirst = false
      await other.append("foo", [{ facts: { ...facts, user: "other" }, body: undefined }])
    }
    await store.append("foo", [{ facts: { ...facts, user: "kim" }, body: undefined }])
    const { entries } = await store.read("foo")
    expect(entries.map(({ user }) => user)).toEqual(["jane", "other", "kim"])
    expect(brokenLinks(entries)).toEqual([])
    await recorder.stop()
  })
})

describe("an earlier moment", () => {
  const current = (object: KubernetesObject) => ({
    key: "AuthorizationPolicy/foo/one",
    kind: "AuthorizationPolicy",
    namespace: "foo",
    name: "one",
    digest: bodyDigest(bodyOf(object, names)),
    changedAt: 0,
  })
  const KEY = "AuthorizationPolicy/foo/one"

  async function recorded() {
    const recorder = recorderOf()
    recorder.admitted(question(policy("/a")))
    policies.set("AuthorizationPolicy", policy("/a"))
    await clock.advance(60_000)
    recorder.admitted(update(policy("/a"), policy("/b", 2)))
    policies.set("AuthorizationPolicy", policy("/b", 2))
    await recorder.stop()
    return store.read("foo")
  }

  it("has the policies of that time", async () => {
    const start = clock.now()
    const history = await recorded()
    const at = (time: number) => documentsAt(time, history, [current(policy("/b", 2))], names)
    expect(at(start - 1)).toEqual({ documents: new Map([[KEY, undefined]]), gaps: [] })
    expect(at(start + 1).documents.get(KEY)?.spec).toEqual(policy("/a").spec)
    expect(at(start + 60_000)).toEqual({ documents: new Map(), gaps: [] })
  })

  it("is unknown if a policy changed without an entry", async () => {
    const start = clock.now()
    const history = await recorded()
    expect(documentsAt(start, history, [current(policy("/c", 3))], names).gaps).toEqual([
      "AuthorizationPolicy `foo/one` changed after its last entry, without an entry",
    ])
    const stranger = {
      ...current(policy("/x")),
      key: "AuthorizationPolicy/foo/two",
      name: "two",
      changedAt: start + 90_000,
    }
    expect(documentsAt(start, history, [current(policy("/b", 2)), stranger], names).gaps).toEqual([
      "AuthorizationPolicy `foo/two` changed without an entry",
    ])
    const { entries } = history
    expect(documentsAt(start - 1, { entries, bodies: new Map() }, [current(policy("/b", 2))], names).gaps).toHaveLength(
      0,
    )
    expect(documentsAt(start + 1, { entries, bodies: new Map() }, [current(policy("/b", 2))], names).gaps[0]).toContain(
      "is not kept",
    )
    expect(
      documentsAt(start - 1, { ...history, entries: entries.slice(1) }, [current(policy("/b", 2))], names).gaps[0],
    ).toContain("starts at")
  })
})

it("records since when changes are recorded, and deletes that when recording is off", async () => {
  await store.begin()
  const since = clock.now()
  await clock.advance(1_000)
  await store.begin()
  expect(await store.since()).toBe(since)
  const off = new HistoryStore({ client, names, maxEntries: 0, owners, warn: () => undefined, now: () => clock.now() })
  await off.begin()
  expect(await off.since()).toBeUndefined()
  expect(await client.get(CONFIG_MAPS, "merlon-history", "merlon-system")).toBeUndefined()
})
