// SPDX-License-Identifier: Apache-2.0
//
// Reviews of who a user is and what they may do, and token requests.

import { generateKeyPairSync } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { RequestContext, User } from "../registry/context.js"
import { RegistryBench } from "../testing/registry.js"
import { granted } from "../testing/stored.js"
import { asString, dig, type JsonObject } from "../value.js"
import type { Credentials } from "./pki.js"
import { Rbac } from "./rbac.js"
import { answerReview, type ReviewServices, tokenRequest } from "./reviews.js"
import { ISSUER, Tokens } from "./tokens.js"

const RBAC = "rbac.authorization.k8s.io"
const jane: User = { name: "jane", uid: "7", groups: ["devs"], extra: { scopes: ["x"] } }

let bench: RegistryBench
let services: ReviewServices
let uid: string
beforeAll(async () => {
  bench = await RegistryBench.start()
  const { registry, store } = bench
  await bench.create({ plural: "namespaces" }, "", { metadata: { name: "shop" } })
  const account = await bench.create({ plural: "serviceaccounts" }, "shop", { metadata: { name: "a" } })
  uid = asString(dig(account, "metadata", "uid"))
  const spec = { containers: [{ name: "c", image: "i" }] }
  await bench.create({ plural: "pods" }, "shop", {
    metadata: { name: "own" },
    spec: { ...spec, serviceAccountName: "a" },
  })
  await bench.create({ plural: "pods" }, "shop", { metadata: { name: "other" }, spec })
  const [role, binding] = granted("jane", "reader", [{ verbs: ["get"], resources: ["pods"] }], "shop")
  await bench.create({ group: RBAC, plural: "roles" }, "shop", role ?? {})
  await bench.create({ group: RBAC, plural: "rolebindings" }, "shop", binding ?? {})
  // Only the parts that sign tokens are used here.
  const { privateKey: tokenKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const credentials = { tokenKey, tokenKeyId: "k" } as Credentials
  const tokens = new Tokens(credentials, store, registry.catalog, registry.clock)
  services = { rbac: new Rbac(store, registry.catalog), tokens, bearers: tokens, registry }
})
afterAll(() => bench.stop())

const context = (more: Partial<RequestContext> = {}): RequestContext => ({
  ...{ user: jane, namespace: "shop", name: "a", subresource: "", dryRun: false, fieldManager: "t" },
  ...{ fieldValidation: "Ignore", warn: () => undefined, now: () => bench.now, signal: undefined },
  ...more,
})

/** The status of the answer, or that of the rejection with its message. */
const told = (kind: string, spec: JsonObject, more: Partial<RequestContext> = {}): Promise<unknown> =>
  answerReview(services, kind, { kind, spec }, context(more)).then(
    ({ status }) => status,
    ({ code, message }) => `${code} ${message}`,
  )

describe("who am I", () => {
  it("is answered with everything that is known of the asker", async () => {
    const userInfo = { username: "jane", uid: "7", groups: ["devs"], extra: { scopes: ["x"] } }
    expect(await told("SelfSubjectReview", { anything: "sent" })).toEqual({ userInfo })
    expect(await answerReview(services, "SelfSubjectReview", { spec: { a: 1 } }, context())).not.toHaveProperty("spec")
  })
})

describe("may they", () => {
  const pods = (verb: string, namespace = "shop"): JsonObject => ({
    resourceAttributes: { verb, resource: "pods", namespace },
  })
  const reason = 'RBAC: allowed by RoleBinding "reader/shop" of Role "reader" to User "jane"'
  const REJECTED = '422 .authorization.k8s.io "" is invalid: '

  it.each<[string, string, JsonObject, unknown]>([
    ["I, what a role grants", "SelfSubjectAccessReview", pods("get"), { allowed: true, reason }],
    ["I, what none does", "SelfSubjectAccessReview", pods("delete"), { allowed: false }],
    ["I, elsewhere", "SelfSubjectAccessReview", pods("get", "bank"), { allowed: false }],
    [
      "I, not by naming another",
      "SelfSubjectAccessReview",
      { ...pods("delete"), user: "x", groups: ["system:masters"] },
      { allowed: false },
    ],
    ["somebody by name", "SubjectAccessReview", { ...pods("get"), user: "jane" }, { allowed: true, reason }],
    ["somebody who is not bound", "SubjectAccessReview", { ...pods("get"), user: "joe" }, { allowed: false }],
    ["a group", "SubjectAccessReview", { ...pods("delete"), groups: ["system:masters"] }, { allowed: true }],
    ["somebody here", "LocalSubjectAccessReview", { ...pods("get"), user: "jane" }, { allowed: true, reason }],
    [
      "a path",
      "SubjectAccessReview",
      { nonResourceAttributes: { path: "/x", verb: "get" }, user: "jane" },
      { allowed: false },
    ],
    [
      "nobody",
      "SubjectAccessReview",
      pods("get"),
      `${REJECTED}spec.user: Invalid value: "": at least one of user or group must be specified`,
    ],
    [
      "somebody elsewhere, asked here",
      "LocalSubjectAccessReview",
      { ...pods("get", "bank"), user: "jane" },
      `${REJECTED}spec.resourceAttributes.namespace: Invalid value: "bank": must match metadata.namespace`,
    ],
    [
      "do nothing in particular",
      "SelfSubjectAccessReview",
      {},
      expect.stringContaining("exactly one of nonResourceAttributes or resourceAttributes must be specified"),
    ],
    [
      "do two things at once",
      "SelfSubjectAccessReview",
      { ...pods("get"), nonResourceAttributes: { path: "/x", verb: "get" } },
      expect.stringContaining("exactly one of nonResourceAttributes or resourceAttributes must be specified"),
    ],
    ["what nobody has heard of", "OtherReview", {}, "400 cannot create OtherReview"],
  ])("%s", async (_, kind, spec, want) => expect(await told(kind, spec)).toEqual(want))

  it("everything, listed", async () => {
    const grant = { verbs: ["get"], apiGroups: [""], resources: ["pods"] }
    expect(await told("SelfSubjectRulesReview", { namespace: "shop" })).toEqual({
      ...{ resourceRules: [grant], nonResourceRules: [], incomplete: false },
    })
    expect(await told("SelfSubjectRulesReview", {})).toBe("400 no namespace on request")
    const user = { ...jane, groups: ["system:masters"] }
    expect(await told("SelfSubjectRulesReview", { namespace: "shop" }, { user })).toMatchObject({
      ...{ resourceRules: [{ verbs: ["*"], resources: ["*"] }], nonResourceRules: [{ nonResourceURLs: ["*"] }] },
    })
  })
})

const request = (spec: JsonObject = {}, more: Partial<RequestContext> = {}, metadata = {}): Promise<JsonObject> =>
  tokenRequest(services, { spec, metadata }, context(more))

describe("a token", () => {
  it("is for the API server and an hour where nothing else is asked for", async () => {
    const answer = await request()
    expect(answer).toMatchObject({
      ...{ kind: "TokenRequest", metadata: { name: "a", namespace: "shop", uid } },
      spec: { audiences: [ISSUER], expirationSeconds: 3600, boundObjectRef: null },
      status: { expirationTimestamp: "2026-01-01T01:00:00Z" },
    })
    const token = asString(dig(answer, "status", "token"))
    expect(await told("TokenReview", { token })).toMatchObject({
      ...{ authenticated: true, user: { username: "system:serviceaccount:shop:a", uid }, audiences: [ISSUER] },
    })
  })

  it("is good for the audience it was asked for, and is reviewed for the one that is asked", async () => {
    const token = asString(dig(await request({ audiences: ["mesh"] }), "status", "token"))
    expect(await told("TokenReview", { token })).toMatchObject({ user: {}, error: expect.stringContaining("audience") })
    expect(await told("TokenReview", { token, audiences: ["mesh", "x"] })).toMatchObject({ audiences: ["mesh"] })
  })

  it("says which Pod it is bound to", async () => {
    const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "own" }
    const token = asString(dig(await request({ boundObjectRef }), "status", "token"))
    expect(await told("TokenReview", { token })).toMatchObject({
      user: { extra: { "authentication.kubernetes.io/pod-name": ["own"] } },
    })
  })

  it("that is invalid has no user, and a missing token is an error", async () => {
    expect(await told("TokenReview", { token: "x" })).toEqual({ user: {}, error: "invalid bearer token" })
    expect(await told("TokenReview", {})).toMatch(/^400 token is required/)
  })

  const pod = { apiVersion: "v1", kind: "Pod", name: "own" }
  it.each<[string, JsonObject, Partial<RequestContext>, JsonObject, string]>([
    ["for less than ten minutes", { expirationSeconds: 599 }, {}, {}, "422 .* duration less than 10 minutes"],
    ["too long an expiration", { expirationSeconds: 2 ** 32 + 1 }, {}, {}, "422 .* larger than 2\\^32 seconds"],
    ["of an account that is not there", {}, { name: "b" }, {}, '404 serviceaccounts "b" not found'],
    ["of two accounts at once", {}, {}, { name: "b" }, "422 .* must match the service account name"],
    [
      "bound to a Pod of another account",
      { boundObjectRef: { ...pod, name: "other" } },
      {},
      {},
      "400 cannot bind token",
    ],
    [
      "bound to a Pod that is not there",
      { boundObjectRef: { ...pod, name: "gone" } },
      {},
      {},
      '404 pods "gone" not found',
    ],
    [
      "bound to a Pod that was there",
      { boundObjectRef: { ...pod, uid: "old" } },
      {},
      {},
      "409 .* does not match the UID",
    ],
    [
      "bound to a kind that cannot be",
      { boundObjectRef: { ...pod, kind: "Node" } },
      {},
      {},
      "400 .* of type /v1, Kind=Node",
    ],
    [
      "bound to such a kind of a group",
      { boundObjectRef: { ...pod, apiVersion: "x/v2" } },
      {},
      {},
      "400 .* of type x/v2",
    ],
  ])("%s is not given", async (_, spec, more, metadata, want) => {
    const rejection = await request(spec, more, metadata).catch(({ code, message }) => `${code} ${message}`)
    expect(rejection).toMatch(new RegExp(`^${want}`))
  })
})
