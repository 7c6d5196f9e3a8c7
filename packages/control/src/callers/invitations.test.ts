// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import type { Caller } from "@merlon/xds/server"
import { expect, it } from "vitest"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import type { KubernetesObject, ResourceType } from "../kubernetes/resource-type.js"
import { Invitations, invitationAudience, invitationDigest } from "./invitations.js"

const DAY = 24 * 3_600_000
const caller = (more: Partial<Caller> = {}): Caller => ({
  trustDomain: "cluster.local",
  namespace: "foo",
  serviceAccount: "web",
  proof: "token",
  pod: "web-1",
  invitation: invitationDigest("a token"),
  ...more,
})

function cluster(now = () => 0) {
  const stored = new Map<string, KubernetesObject>()
  const client = {
    create: async (_: ResourceType, object: KubernetesObject) => {
      if (stored.has(object.metadata.name)) throw new ApiError(409, "AlreadyExists", "there is one")
      const creationTimestamp = new Date(now()).toISOString()
      stored.set(object.metadata.name, { ...object, metadata: { ...object.metadata, creationTimestamp } })
      return object
    },
    list: async () => ({ items: [...stored.values()], resourceVersion: "1" }),
    delete: async (_: ResourceType, name: string) => stored.delete(name),
  } as unknown as KubernetesClient // nothing else is called
  return { stored, invitations: () => new Invitations(client, meshNames(), now) }
}

it("admits one client only, whichever replica it asks", async () => {
  const { invitations } = cluster()
  const replicas = [invitations(), invitations(), invitations()]
  const outcomes = await Promise.all(replicas.map(replica => replica.take(caller())))
  expect(outcomes.filter(outcome => outcome === undefined)).toHaveLength(1)
  expect(outcomes.find(outcome => outcome !== undefined)?.message).toContain("was already used")
})

it("is valid only for the workload that it names", async () => {
  const { invitations } = cluster()
  expect((await invitations().take(caller({ pod: undefined } as never)))?.message).toContain("does not name a workload")
})

it("ignores callers without an invitation", async () => {
  const { invitations, stored } = cluster()
  const { invitation: _, ...usual } = caller()
  expect([await invitations().take(usual), stored.size]).toEqual([undefined, 0])
})

it("forgets expired invitations", async () => {
  let now = 0
  const { invitations, stored } = cluster(() => now)
  await invitations().take(caller())
  now = 3 * DAY
  await invitations().take(caller({ invitation: invitationDigest("another") }))
  await expect.poll(() => [...stored.keys()]).toEqual([`merlon-invitation-${invitationDigest("another")}`])
})

it("has its own audience, and stores only a digest", () => {
  expect(invitationAudience(meshNames())).toBe("merlon-ca-invitation")
  expect(invitationDigest("secret")).toMatch(/^[0-9a-f]{40}$/)
})
