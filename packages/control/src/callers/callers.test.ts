// SPDX-License-Identifier: Apache-2.0
import { meshConfig } from "@merlon/policy/mesh"
import { spiffeId } from "@merlon/policy/request"
import { expect, it } from "vitest"
import type { KubernetesClient } from "../kubernetes/client.js"
import { callerOfCertificate, callerOfToken } from "./callers.js"

const mesh = meshConfig()
const AUDIENCE = mesh.names.tokenAudience
const USER = "system:serviceaccount:foo:web"
const POD = { "authentication.kubernetes.io/pod-name": ["a"], "authentication.kubernetes.io/pod-uid": ["uid-a"] }

/** An API that returns this status for every token. */
function api(status: object): KubernetesClient {
  const create = async (_: unknown, object: object) => ({ ...object, status })
  return { create } as unknown as KubernetesClient // nothing else is called
}

const token = (claims: object) => `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`
const good = { authenticated: true, audiences: [AUDIENCE], user: { username: USER, extra: POD } }
const known = { trustDomain: "cluster.local", namespace: "foo", serviceAccount: "web", proof: "token" }

it("takes a caller from the token review, and the expiry from the token", async () => {
  expect(await callerOfToken(api(good), mesh, token({ exp: 1_800_000_000 }))).toEqual({
    ...known,
    pod: "a",
    podUid: "uid-a",
    expiresAt: 1_800_000_000_000,
  })
})

it.each(["x", "a.b.c", token({}), token({ exp: "soon" }), token([])])("reads no expiry from `%s`", async text => {
  expect(await callerOfToken(api(good), mesh, text)).toEqual({ ...known, pod: "a", podUid: "uid-a" })
})

it.each([
  ["that is invalid", { ...good, authenticated: false }],
  ["for another audience", { ...good, audiences: ["api"] }],
  ["reviewed by a server that does not know audiences", { ...good, audiences: undefined }],
  ["of a user", { ...good, user: { username: "admin" } }],
])("rejects a token %s", async (_, status) => {
  expect(await callerOfToken(api(status), mesh, "t")).toBeUndefined()
})

it("takes the Pod from a certificate that names one", () => {
  const certificate = {
    id: spiffeId("cluster.local", "foo", "web"),
    serial: "1",
    notBefore: 0,
    notAfter: 1,
    chain: "",
    root: "",
  }
  const caller = { ...known, proof: "certificate", serial: "1" }
  expect(callerOfCertificate({ ...certificate, pod: undefined })).toEqual(caller)
  expect(callerOfCertificate({ ...certificate, pod: { name: "a", uid: "u" } })).toEqual({
    ...caller,
    pod: "a",
    podUid: "u",
  })
})
