// SPDX-License-Identifier: Apache-2.0
//
// Reviews of identities and permissions, and token requests.

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
  // Only the fields that sign tokens are used.
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

/** The status of the review, or code and message of the rejection. */
const resultOf = (kind: string, spec: JsonObject, more: Partial<RequestContext> = {}): Promise<unknown> =>
  answerReview(services, kind, { kind, spec }, context(more)).then(
    ({ status }) => status,
    ({ code, message }) => `${code} ${message}`,
  )

describe("a SelfSubjectReview", () => {
  it("returns everything that is known about the sender", async () => {
    const userInfo = { username: "jane", uid: "7", groups: ["devs"], extra: { scopes: ["x"] } }
    expect(await resultOf("SelfSubjectReview", { anything: "sent" })).toEqual({ userInfo })
    expect(await answerReview(services, "SelfSubjectReview", { spec: { a: 1 } }, context())).not.toHaveProperty("spec")
  })
})

describe("an access review", () => {
  const pods = (verb: string, namespace = "shop"): JsonObject => ({
    resourceAttributes: { verb, resource: "pods", namespace },
  })
  const reason = 'RBAC: allowed by RoleBinding "reader/shop" of Role "reader" to User "jane"'
  const REJECTED = '422 .authorization.k8s.io "" is invalid: '

  it.each<[string, string, JsonObject, unknown]>([
    ["allows a user what a role grants", "SelfSubjectAccessReview", pods("get"), { allowed: true, reason }],
    ["does not allow a user what no role grants", "SelfSubjectAccessReview", pods("delete"), { allowed: false }],
    ["does not allow a user in another namespace", "SelfSubjectAccessReview", pods("get", "bank"), { allowed: false }],
    [
      "of oneself ignores another user's name",
      "SelfSubjectAccessReview",
      { ...pods("delete"), user: "x", groups: ["system:masters"] },
      { allowed: false },
    ],
    [
      "by name allows what a role grants",
      "SubjectAccessReview",
      { ...pods("get"), user: "jane" },
      { allowed: true, reason },
    ],
    [
      "by name does not allow a user without a binding",
      "SubjectAccessReview",
      { ...pods("get"), user: "joe" },
      { allowed: false },
    ],
    [
      "of a group allows what the group may do",
      "SubjectAccessReview",
      { ...pods("delete"), groups: ["system:masters"] },
      { allowed: true },
    ],
    [
      "in a namespace allows what a role grants there",
      "LocalSubjectAccessReview",
      { ...pods("get"), user: "jane" },
      { allowed: true, reason },
    ],
    [
      "of a path does not allow it without a rule",
      "SubjectAccessReview",
      { nonResourceAttributes: { path: "/x", verb: "get" }, user: "jane" },
      { allowed: false },
    ],
    [
      "without a user or group is rejected",
      "SubjectAccessReview",
      pods("get"),
      `${REJECTED}spec.user: Invalid value: "": at least one of user or group must be specified`,
    ],
    [
      "in a namespace rejects a question about another namespace",
      "LocalSubjectAccessReview",
      { ...pods("get", "bank"), user: "jane" },
      `${REJECTED}spec.resourceAttributes.namespace: Invalid value: "bank": must match metadata.namespace`,
    ],
    [
      "rejects a spec without attributes",
      "SelfSubjectAccessReview",
      {},
      expect.stringContaining("exactly one of nonResourceAttributes or resourceAttributes must be specified"),
    ],
    [
      "rejects a spec with both kinds of attributes",
      "SelfSubjectAccessReview",
      { ...pods("get"), nonResourceAttributes: { path: "/x", verb: "get" } },
      expect.stringContaining("exactly one of nonResourceAttributes or resourceAttributes must be specified"),
    ],
    ["rejects an unknown kind", "OtherReview", {}, "400 cannot create OtherReview"],
  ])("%s", async (_, kind, spec, want) => expect(await resultOf(kind, spec)).toEqual(want))

  it("lists all rules of a user", async () => {
    const grant = { verbs: ["get"], apiGroups: [""], resources: ["pods"] }
    expect(await resultOf("SelfSubjectRulesReview", { namespace: "shop" })).toEqual({
      ...{ resourceRules: [grant], nonResourceRules: [], incomplete: false },
    })
    expect(await resultOf("SelfSubjectRulesReview", {})).toBe("400 no namespace on request")
    const user = { ...jane, groups: ["system:masters"] }
    expect(await resultOf("SelfSubjectRulesReview", { namespace: "shop" }, { user })).toMatchObject({
      ...{ resourceRules: [{ verbs: ["*"], resources: ["*"] }], nonResourceRules: [{ nonResourceURLs: ["*"] }] },
    })
  })
})

const request = (spec: JsonObject = {}, more: Partial<RequestContext> = {}, metadata = {}): Promise<JsonObject> =>
  tokenRequest(services, { spec, metadata }, context(more))

describe("a token", () => {
  it("is for the API server and valid for an hour by default", async () => {
    const answer = await request()
    expect(answer).toMatchObject({
      ...{ kind: "TokenRequest", metadata: { name: "a", namespace: "shop", uid } },
      spec: { audiences: [ISSUER], expirationSeconds: 3600, boundObjectRef: null },
      status: { expirationTimestamp: "2026-01-01T01:00:00Z" },
    })
    const token = asString(dig(answer, "status", "token"))
    expect(await resultOf("TokenReview", { token })).toMatchObject({
      ...{ authenticated: true, user: { username: "system:serviceaccount:shop:a", uid }, audiences: [ISSUER] },
    })
  })

  it("is valid only for its audience", async () => {
    const token = asString(dig(await request({ audiences: ["mesh"] }), "status", "token"))
    expect(await resultOf("TokenReview", { token })).toMatchObject({
      user: {},
      error: expect.stringContaining("audience"),
    })
    expect(await resultOf("TokenReview", { token, audiences: ["mesh", "x"] })).toMatchObject({ audiences: ["mesh"] })
  })

  it("names the Pod that it is bound to", async () => {
    const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "own" }
    const token = asString(dig(await request({ boundObjectRef }), "status", "token"))
    expect(await resultOf("TokenReview", { token })).toMatchObject({
      user: { extra: { "authentication.kubernetes.io/pod-name": ["own"] } },
    })
  })

  it("that is invalid has no user, and a missing token is an error", async () => {
    expect(await resultOf("TokenReview", { token: "x" })).toEqual({ user: {}, error: "invalid bearer token" })
    expect(await resultOf("TokenReview", {})).toMatch(/^400 token is required/)
  })

  const pod = { apiVersion: "v1", kind: "Pod", name: "own" }
  it.each<[string, JsonObject, Partial<RequestContext>, JsonObject, string]>([
    ["for less than ten minutes", { expirationSeconds: 599 }, {}, {}, "422 .* duration less than 10 minutes"],
    ["with too long an expiration", { expirationSeconds: 2 ** 32 + 1 }, {}, {}, "422 .* larger than 2\\^32 seconds"],
    ["of a missing account", {}, { name: "b" }, {}, '404 serviceaccounts "b" not found'],
    ["whose metadata names another account", {}, {}, { name: "b" }, "422 .* must match the service account name"],
    [
      "bound to a Pod of another account",
      { boundObjectRef: { ...pod, name: "other" } },
      {},
      {},
      "400 cannot bind token",
    ],
    ["bound to a missing Pod", { boundObjectRef: { ...pod, name: "gone" } }, {}, {}, '404 pods "gone" not found'],
    ["bound to a replaced Pod", { boundObjectRef: { ...pod, uid: "old" } }, {}, {}, "409 .* does not match the UID"],
    [
      "bound to an unsupported kind",
      { boundObjectRef: { ...pod, kind: "Node" } },
      {},
      {},
      "400 .* of type /v1, Kind=Node",
    ],
    [
      "bound to an unsupported group",
      { boundObjectRef: { ...pod, apiVersion: "x/v2" } },
      {},
      {},
      "400 .* of type x/v2",
    ],
  ])("%s is not issued", async (_, spec, more, metadata, want) => {
    const rejection = await request(spec, more, metadata).catch(({ code, message }) => `${code} ${message}`)
    expect(rejection).toMatch(new RegExp(`^${want}`))
  })
})
