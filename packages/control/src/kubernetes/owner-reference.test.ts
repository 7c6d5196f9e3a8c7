// SPDX-License-Identifier: Apache-2.0
// The owner of the objects that we write: our role while it exists, and the same role after its deletion.

import { expect, it } from "vitest"
import type { KubernetesClient } from "./client.js"
import { lastKnownRoleAsOwner, ownedBy, roleAsOwner } from "./owner-reference.js"

/** A cluster in which the role has this uid, does not exist, or may not be read. */
function roles(uid: string | undefined | Error): Pick<KubernetesClient, "get"> {
  return {
    get: async () => {
      if (uid instanceof Error) throw uid
      // Only the uid is read.
      return uid === undefined ? undefined : ({ metadata: { name: "merlond", uid } } as never)
    },
  }
}

it.each([
  ["the role does not exist", undefined],
  ["the role may not be read", new Error("forbidden")],
])("there is no owner if %s", async (_, uid) => {
  expect(ownedBy(await roleAsOwner(roles(uid), "merlond"))).toEqual({})
})

it("names the role that exists, or the last one after its deletion", async () => {
  let cluster = roles("u1")
  const owners = lastKnownRoleAsOwner({ get: (...args) => cluster.get(...args) }, "merlond")
  expect((await owners()).map(({ uid }) => uid)).toEqual(["u1"])
  cluster = roles("u2")
  expect((await owners()).map(({ uid }) => uid)).toEqual(["u2"])
  for (const gone of [undefined, new Error("forbidden")]) {
    cluster = roles(gone)
    expect((await owners()).map(({ uid }) => uid)).toEqual(["u2"])
  }
})
