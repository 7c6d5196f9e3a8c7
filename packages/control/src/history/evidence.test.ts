// SPDX-License-Identifier: Apache-2.0
import { meshConfig } from "@merlon/policy/mesh"
import { beforeEach, describe, expect, it } from "vitest"
import { HistoryAnswers } from "../answers/api/history-answers.js"
import { HISTORY_RESOURCES } from "../answers/api/resources.js"
import { CONFIG_MAPS, NAMESPACES } from "../kubernetes/resource-type.js"
import { MemoryClient } from "../observe/testing/memory-client.js"
import { appended, brokenLinks, type ChangeFacts, sha256 } from "./chain.js"
import { recordedEvidence, unpackedEvidence } from "./evidence.js"
import { HistoryStore } from "./history-store.js"
import { isEntry } from "./namespace-history.js"

const { names } = meshConfig()
const KEPT = "merlon-history-foo.certificates"

let client: MemoryClient
let warnings: string[]
let store: HistoryStore

beforeEach(() => {
  client = new MemoryClient()
  for (const name of ["foo", "foo-certificates"])
    client.put(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
  warnings = []
  const warn = (message: string) => warnings.push(message)
  store = new HistoryStore({ client, names, maxEntries: 200, warn, owners: async () => [], now: () => 0 })
})

const evidenceOf = (certificate: string) =>
  recordedEvidence({ certificate, before: undefined, after: undefined, others: [] })
/** Does not become smaller when it is compressed. */
const large = (seed: number): string => Array.from({ length: 1_000 }, (_, index) => sha256(`${seed} ${index}`)).join("")

function change(certificate: string, namespace = "foo") {
  const { note, packed } = evidenceOf(certificate)
  const facts: ChangeFacts = {
    time: "2026-01-01T00:00:00.000Z",
    operation: "update",
    kind: "AuthorizationPolicy",
    namespace,
    name: "web",
    uid: "u1",
    generation: 1,
    difference: { allowed: [], denied: [] },
    certificate: note,
  }
  return { facts, body: undefined, evidence: packed }
}

describe("an entry", () => {
  it("holds digest and size of its certificate", async () => {
    await store.append("foo", [change("c")])
    const { entries } = await store.read("foo")
    expect(entries[0]?.certificate).toEqual({ digest: sha256("c"), size: 1 })
    const forged = entries.map(entry => ({ ...entry, certificate: { digest: sha256("d"), size: 1 } }))
    expect(brokenLinks(forged)).toEqual(["entry 1 was changed after it was written"])
  })

  it("of an older version has no certificate, and verifies with the digest that it was written with", () => {
    const { certificate: _, ...facts } = change("c").facts
    const entries = appended([], facts)
    expect(entries[0]?.digest).toBe("f49265b3675b7e2d46656c3547d102627ca831c6e807cbba7c41ec6934666ccc")
    expect(brokenLinks(entries)).toEqual([])
    expect(entries.every(isEntry)).toBe(true)
  })

  it.each([{}, "c", { digest: "d" }, { digest: 1, size: 1 }])("cannot have %j as certificate", certificate => {
    const [entry] = appended([], change("c").facts)
    expect(isEntry(entry)).toBe(true)
    expect(isEntry({ ...entry, certificate })).toBe(false)
  })

  it("says that a certificate is too large", () => {
    const tooLarge = { note: { missing: "it and its policies are larger than the history keeps" } }
    expect(evidenceOf("x".repeat(2 << 20))).toEqual(tooLarge)
    expect(evidenceOf(large(1) + large(2) + large(3))).toEqual(tooLarge)
  })
})

describe("certificates", () => {
  it("are kept for the newest entries, within a limit", async () => {
    for (let n = 0; n < 20; n++) await store.append("foo", [change(large(n))])
    const kept = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => (await store.evidence("foo", sha256(large(n))))?.certificate),
    )
    const oldest = kept.findIndex(one => one !== undefined)
    expect(oldest).toBeGreaterThan(0)
    expect(kept.slice(oldest)).toEqual(Array.from({ length: 20 - oldest }, (_, n) => large(oldest + n)))
    const { data } = client.objects.get(`configmaps/merlon-system/${KEPT}`) as unknown as { data: object }
    expect(JSON.stringify(data).length).toBeLessThan(600 << 10)
    expect((await store.read("foo")).entries).toHaveLength(20)
  })

  it("of two entries may be the same one", async () => {
    await store.append("foo", [change("c"), change("d"), change("c")])
    expect((await store.evidence("foo", sha256("c")))?.certificate).toBe("c")
  })

  it("are deleted with their namespace, and belong to no later one", async () => {
    await store.append("foo", [change("c")])
    await store.append("foo-certificates", [change("d", "foo-certificates")])
    client.put(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: "foo", uid: "another" } })
    await store.append("foo", [change("e")])
    expect(await store.evidence("foo", sha256("c"))).toBeUndefined()
    await store.forget("foo")
    expect(await client.get(CONFIG_MAPS, KEPT, "merlon-system")).toBeUndefined()
    expect((await store.read("foo-certificates")).entries).toHaveLength(1)
  })

  it("that cannot be stored cost no entry", async () => {
    client.beforeWrite = ({ key }) => {
      if (key.endsWith(KEPT)) throw new Error("away")
    }
    await store.append("foo", [change("c")])
    expect((await store.read("foo")).entries).toHaveLength(1)
    expect(warnings).toEqual(["certificates of namespace `foo` are not kept: away"])
  })

  it("of another replica that are stored in between stay", async () => {
    await store.append("foo", [change("c")])
    const other = new HistoryStore({
      client,
      names,
      maxEntries: 200,
      owners: async () => [],
      warn: expect.unreachable,
      now: () => 0,
    })
    let isFirst = true
    client.beforeWrite = async ({ key }) => {
      if (!key.endsWith(KEPT) || !isFirst) return
      isFirst = false
      await other.append("foo", [change("d")])
    }
    await store.append("foo", [change("e")])
    for (const text of ["c", "d", "e"]) expect((await store.evidence("foo", sha256(text)))?.certificate).toBe(text)
  })

  it.each(["", "!", Buffer.from("no gzip").toString("base64")])("read as empty if they are %j", text => {
    expect(unpackedEvidence(text)).toEqual({ certificate: "", others: [] })
  })
})

describe("the API", () => {
  const [resource] = HISTORY_RESOURCES
  const asked = async (index: number) => {
    if (resource === undefined) return expect.unreachable()
    const answers = new HistoryAnswers({ client, names, store, namespaces: () => ["foo"], now: () => 0 })
    const { sequence = 0, digest = "" } = (await store.read("foo")).entries[index] ?? {}
    const name = `${sequence}-${digest.slice(0, 12)}`
    const query = new URLSearchParams({ evidence: "true" })
    return (await answers.get({ resource, verb: "get", namespace: "foo", name, query })).spec
  }

  it("returns the certificate of a change on request", async () => {
    await store.append("foo", [change("c")])
    expect(await asked(0)).toMatchObject({ evidence: { certificate: "c", others: [] } })
  })

  it("says why there is none", async () => {
    const { facts } = change("c")
    const { certificate: _, ...old } = facts
    await store.append("foo", [
      { facts: old, body: undefined },
      { facts: { ...facts, certificate: { missing: "it is not decided" } }, body: undefined },
      { facts, body: undefined },
    ])
    await expect(asked(0)).rejects.toThrow("an older version recorded it")
    await expect(asked(1)).rejects.toThrow("it is not decided")
    await expect(asked(2)).rejects.toThrow("is not kept any more")
  })
})
