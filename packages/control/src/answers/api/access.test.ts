// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import { type AccessRequest, permit } from "./access.js"

const JANE = { name: "jane", uid: "7", groups: ["dev"], extra: {} }
const REQUEST: AccessRequest = {
  verb: "list",
  group: "answers.merlon.dev",
  version: "v1alpha1",
  resource: "calls",
  namespace: "foo",
  name: undefined,
}

/** A cluster whose authorizer returns this status, and the reviews that it received. */
function clusterThatSays(status: unknown) {
  const asked: unknown[] = []
  const create = async <T>(_: unknown, object: unknown): Promise<T> => {
    asked.push(object)
    return { ...(object as object), status } as T // the created object, with its status
  }
  return { client: { create }, asked }
}

it("asks the cluster about the user and the request", async () => {
  const { client, asked } = clusterThatSays({ allowed: true })
  await permit(client, JANE, REQUEST)
  const { verb, group, version, resource, namespace } = REQUEST
  const resourceAttributes = { verb, group, version, resource, namespace }
  expect(asked).toMatchObject([{ spec: { user: "jane", uid: "7", groups: ["dev"], resourceAttributes } }])
})

test.each([
  ["denied", { allowed: false }],
  ["explicitly denied, though another authorizer allows", { allowed: true, denied: true }],
  ["empty", undefined],
  ["allowed by a value that is not a boolean", { allowed: "true" }],
])("rejects a request if the review is %s", async (_, status) => {
  await expect(permit(clusterThatSays(status).client, JANE, REQUEST)).rejects.toThrow(
    'User "jane" cannot list resource "calls"',
  )
})

test.each([{ allowed: true }, { allowed: true, denied: false }])("permits what is allowed: %o", async status => {
  await expect(permit(clusterThatSays(status).client, JANE, REQUEST)).resolves.toBeUndefined()
})
