// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { keySetId } from "@merlon/policy/tokens"
import { expect, it, test } from "vitest"
import { ApiError } from "../kubernetes/client.js"
import { CONFIG_MAPS } from "../kubernetes/resource-type.js"
import { ManualClock, settle } from "../observe/testing/manual-clock.js"
import { MemoryClient } from "../observe/testing/memory-client.js"
import { type GoodKeys, goodKeys } from "./fetched-issuer.js"
import { KeySetPersistence } from "./key-set-persistence.js"
import { FetchedKeySets } from "./key-set-store.js"
import { jwks } from "./testing/issuer.js"

const rule = { issuer: "https://idp.test", jwksUri: "https://idp.test/keys" }
const id = keySetId(rule)
const text = jwks("k")

function rig(client = new MemoryClient()) {
  const clock = new ManualClock()
  const held = new Map<string, GoodKeys>()
  const listeners: ((id: string, change: { jwks: boolean }) => void)[] = []
  const warnings: string[] = []
  const state = { leader: true, needed: new Set([id]) as ReadonlySet<string> | undefined }
  const persistence = new KeySetPersistence({
    client,
    names: meshNames(),
    isLeader: () => state.leader,
    warn: message => warnings.push(message),
    clock,
  })
  persistence.follow({
    get needed() {
      return state.needed
    },
    good: () => held,
    onChange: listener => {
      listeners.push(listener)
      return () => undefined
    },
  })
  const hold = async (jwksText: string | undefined, change = { jwks: true }): Promise<void> => {
    const good = jwksText === undefined ? undefined : goodKeys(jwksText, clock.now())
    if (good === undefined) held.delete(id)
    else held.set(id, good)
    for (const listener of listeners) listener(id, change)
    await settle()
  }
  const stored = () => [...client.objects.values()]
  return { client, clock, persistence, state, warnings, hold, stored }
}

it("stores keys in a ConfigMap of the root namespace and loads them again", async () => {
  const { client, clock, persistence, hold, stored } = rig()
  await hold(text)
  expect(stored()).toMatchObject([
    {
      metadata: { namespace: "merlon-system", name: expect.stringMatching(/^merlon-keys-[0-9a-f]{20}$/) },
      data: { id, jwks: text, fetchedAt: new Date(clock.now()).toISOString() },
    },
  ])
  expect(await persistence.load()).toEqual(new Map([[id, goodKeys(text, clock.now())]]))
  expect(client.writes.map(write => write.verb)).toEqual(["create"])
})

it("writes only what changed", async () => {
  const { client, hold, persistence } = rig()
  await hold(text)
  await hold(text)
  await hold(text, { jwks: false })
  persistence.leadershipChanged()
  await settle()
  expect(client.writes).toHaveLength(1)
  await hold(jwks("rotated"))
  expect(client.writes.map(write => write.verb)).toEqual(["create", "patch"])
})

it("writes nothing without the lease, and catches up after acquiring it", async () => {
  const { client, state, hold, persistence } = rig()
  state.leader = false
  await hold(text)
  expect(client.writes).toEqual([])
  state.leader = true
  persistence.leadershipChanged()
  await settle()
  expect(client.writes).toHaveLength(1)
})

it("deletes unneeded keys once the needed ones are known", async () => {
  const { state, hold, stored } = rig()
  await hold(text)
  state.needed = undefined
  await hold(undefined)
  expect(stored()).toHaveLength(1)
  state.needed = new Set()
  await hold(undefined)
  expect(stored()).toEqual([])
})

it("keeps needed keys while the issuer does not answer", async () => {
  const { hold, stored } = rig()
  await hold(text)
  await hold(undefined)
  expect(stored()).toHaveLength(1)
})

it("retries if the cluster rejects the write", async () => {
  const { client, clock, hold, stored, warnings } = rig()
  await settle()
  client.beforeWrite = () => {
    throw new ApiError(503, "ServiceUnavailable", "later")
  }
  await hold(text)
  expect(warnings).toHaveLength(1)
  client.beforeWrite = () => undefined
  await clock.advance(1_000)
  expect(stored()).toHaveLength(1)
})

test.each<[string, { readonly [key: string]: string }, string]>([
  ["another id", { id: keySetId({ issuer: "evil" }) }, "its `id` does not match its name"],
  ["no id", { id: "" }, "its `id` does not match its name"],
  ["garbage", { jwks: "{" }, "its `jwks` is not a usable key set"],
  ["no time", { fetchedAt: "yesterday" }, "its `fetchedAt` is not a time"],
])("rejects an edited ConfigMap: %s", async (_, edit, expected) => {
  const { client, persistence, warnings, hold, stored } = rig()
  await hold(text)
  const [object] = stored()
  if (object === undefined) throw new Error("nothing was stored")
  client.put(CONFIG_MAPS, { ...object, data: { ...(object.data as object), ...edit } })
  expect(await persistence.load()).toEqual(new Map())
  expect(warnings).toEqual([`ConfigMap \`${object.metadata.name}\` is ignored: ${expected}`])
  persistence.leadershipChanged()
  await settle()
  expect(stored()).toMatchObject([{ data: { id, jwks: text } }])
})

it("ignores a time in the future", async () => {
  const { client, clock, persistence, hold, stored } = rig()
  await hold(text)
  const [object] = stored()
  if (object === undefined) throw new Error("nothing was stored")
  client.put(CONFIG_MAPS, { ...object, data: { ...(object.data as object), fetchedAt: "2099-01-01T00:00:00Z" } })
  expect((await persistence.load()).get(id)?.fetchedAt).toBe(clock.now())
})

it("keeps keys across a restart while the issuer is down", async () => {
  const { client, hold } = rig()
  await hold(text)
  const { persistence } = rig(client)
  const store = new FetchedKeySets({
    persisted: persistence.load(),
    fetch: async () => ({ ok: false, error: "the connection was refused" }),
    clock: new ManualClock(),
  })
  store.need([{ rule, namespace: "foo" }])
  await settle()
  expect(store.get(id)).toMatchObject({ jwks: text, keys: 1, error: "the connection was refused" })
  store.close()
})
