// SPDX-License-Identifier: Apache-2.0
// The review resources: queries about identities and permissions that are answered and never stored, and the token
// subresource of service accounts.

import { type FieldError, invalid } from "../meta/field-error.js"
import { badRequest, conflict, invalidError, notFound } from "../meta/status.js"
import type { RequestContext, User } from "../registry/context.js"
import { userInfo } from "../registry/context.js"
import { keyOf } from "../registry/kind.js"
import type { Registry } from "../registry/registry.js"
import { asObject, asString, asStrings, dig, isObject, type Json, type JsonObject } from "../value.js"
import { now, printTime } from "../wire/go-time.js"
import type { Attributes, Rbac } from "./rbac.js"
import { type BoundObject, ISSUER, type TokenChecker, type Tokens } from "./tokens.js"

export interface ReviewServices {
  readonly rbac: Rbac
  readonly tokens: Pick<Tokens, "issue">
  readonly bearers: TokenChecker
  readonly registry: Registry
}

const AUTHORIZATION = { group: "authorization.k8s.io", resource: "" }
const MAX_EXPIRATION = 2 ** 32
const MIN_EXPIRATION = 600

export async function answerReview(
  services: ReviewServices,
  kind: string,
  review: JsonObject,
  context: RequestContext,
): Promise<JsonObject> {
  switch (kind) {
    case "SelfSubjectReview":
      return {
        ...withoutSpec(review),
        metadata: { creationTimestamp: now(context.now) },
        status: { userInfo: userInfo(context.user) },
      }
    case "TokenReview":
      return tokenReview(services.bearers, review)
    case "SelfSubjectAccessReview":
      return accessReview(services.rbac, review, context.user)
    case "SubjectAccessReview":
      return accessReview(services.rbac, review, undefined)
    case "LocalSubjectAccessReview": {
      const namespace = asString(dig(review, "spec", "resourceAttributes", "namespace"))
      if (namespace !== context.namespace)
        throw invalidError(AUTHORIZATION, "", [
          invalid("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace"),
        ])
      const answered = await accessReview(services.rbac, review, undefined)
      return { ...answered, metadata: { ...asObject(answered.metadata), namespace: context.namespace } }
    }
    case "SelfSubjectRulesReview":
      return rulesReview(services.rbac, review, context.user)
    default:
      throw badRequest(`cannot create ${kind}`)
  }
}

function withoutSpec(review: JsonObject): JsonObject {
  const { spec: _, ...rest } = review
  return rest
}

async function tokenReview(tokens: TokenChecker, review: JsonObject): Promise<JsonObject> {
  const spec = asObject(review.spec)
  const audiences = asStrings(spec.audiences)
  if (asString(spec.token) === "") throw badRequest("token is required for TokenReview in authentication")
  const result = await tokens.check(asString(spec.token), audiences.length > 0 ? audiences : [ISSUER])
  const status: JsonObject =
    "error" in result
      ? { user: {}, error: result.error }
      : { authenticated: true, user: userInfo(result.user), audiences: [...result.audiences] }
  return { ...review, status }
}

function attributesOf(spec: JsonObject): Attributes {
  const resource = spec.resourceAttributes
  const path = spec.nonResourceAttributes
  if (isObject(resource) === isObject(path)) {
    const shown: Json = isObject(path) ? { Path: asString(path.path), Verb: asString(path.verb) } : null
    throw invalidError(AUTHORIZATION, "", [
      invalid("spec", shown, "exactly one of nonResourceAttributes or resourceAttributes must be specified"),
    ])
  }
  if (isObject(path)) return { path: asString(path.path), verb: asString(path.verb) }
  const own = asObject(resource)
  const text = (key: string): string => asString(own[key])
  return {
    verb: text("verb"),
    group: text("group"),
    version: text("version"),
    resource: text("resource"),
    subresource: text("subresource"),
    namespace: text("namespace"),
    name: text("name"),
  }
}

async function accessReview(rbac: Rbac, review: JsonObject, self: User | undefined): Promise<JsonObject> {
  const spec = asObject(review.spec)
  const attributes = attributesOf(spec)
  let user = self
  if (user === undefined) {
    const name = asString(spec.user)
    const groups = asStrings(spec.groups)
    if (name === "" && groups.length === 0)
      throw invalidError(AUTHORIZATION, "", [
        invalid("spec.user", "", "at least one of user or group must be specified"),
      ])
    user = { name, uid: asString(spec.uid), groups, extra: {} }
  }
  const { allowed, reason } = await rbac.authorize(user, attributes)
  return { ...review, status: reason === "" ? { allowed } : { allowed, reason } }
}

async function rulesReview(rbac: Rbac, review: JsonObject, user: User): Promise<JsonObject> {
  const namespace = asString(dig(review, "spec", "namespace"))
  if (namespace === "") throw badRequest("no namespace on request")
  const all = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [], nonResourceURLs: [] }
  const rules = user.groups.includes("system:masters")
    ? [all, { ...all, apiGroups: [], resources: [], nonResourceURLs: ["*"] }]
    : (await rbac.bound(user, namespace)).flatMap(bound => bound.rules)
  const list = (items: readonly string[]): Json => [...items]
  const resourceRules = rules
    .filter(rule => rule.resources.length > 0)
    .map(
      (rule): JsonObject => ({
        verbs: list(rule.verbs),
        apiGroups: list(rule.apiGroups),
        resources: list(rule.resources),
        ...(rule.resourceNames.length > 0 ? { resourceNames: list(rule.resourceNames) } : {}),
      }),
    )
  const nonResourceRules = rules
    .filter(rule => rule.nonResourceURLs.length > 0)
    .map((rule): JsonObject => ({ verbs: list(rule.verbs), nonResourceURLs: list(rule.nonResourceURLs) }))
  return { ...review, metadata: {}, spec: {}, status: { resourceRules, nonResourceRules, incomplete: false } }
}

const TOKEN_REQUEST = { group: "authentication.k8s.io", resource: "TokenRequest" }

/** Handles POST serviceaccounts/NAME/token. */
export async function tokenRequest(
  services: ReviewServices,
  request: JsonObject,
  context: RequestContext,
): Promise<JsonObject> {
  const { registry, tokens } = services
  const accounts = registry.catalog.builtin("", "v1", "serviceaccounts")
  const account = await registry.get(accounts, context.namespace, context.name)
  const meta = asObject(request.metadata)
  if (asString(meta.name) !== "" && meta.name !== context.name)
    throw invalidError(TOKEN_REQUEST, context.name, [
      invalid("metadata.name", asString(meta.name), "must match the service account name if specified"),
    ])
  const spec = asObject(request.spec)
  const seconds = typeof spec.expirationSeconds === "number" ? spec.expirationSeconds : 3600
  const errors: FieldError[] = []
  if (seconds < MIN_EXPIRATION)
    errors.push(invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"))
  if (seconds > MAX_EXPIRATION)
    errors.push(invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds"))
  if (errors.length > 0) throw invalidError(TOKEN_REQUEST, "", errors)
  const bound = isObject(spec.boundObjectRef) ? await boundObject(registry, spec.boundObjectRef, context) : undefined
  const audiences = asStrings(spec.audiences)
  const wanted = audiences.length > 0 ? audiences : [ISSUER]
  const { token, expires } = await tokens.issue({
    namespace: context.namespace,
    account: context.name,
    accountUid: asString(dig(account, "metadata", "uid")),
    audiences: wanted,
    expirationSeconds: seconds,
    ...(bound === undefined ? {} : { bound }),
  })
  return {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: {
      ...meta,
      name: context.name,
      namespace: context.namespace,
      uid: dig(account, "metadata", "uid") ?? "",
      creationTimestamp: now(context.now),
    },
    spec: {
      audiences: wanted,
      expirationSeconds: seconds,
      boundObjectRef: isObject(spec.boundObjectRef) ? spec.boundObjectRef : null,
    },
    status: { token, expirationTimestamp: printTime({ micros: BigInt(expires) * 1_000_000n }) },
  }
}

async function boundObject(registry: Registry, ref: JsonObject, context: RequestContext): Promise<BoundObject> {
  const kind = asString(ref.kind)
  const name = asString(ref.name)
  const plural = kind === "Pod" ? "pods" : kind === "Secret" ? "secrets" : undefined
  if (plural === undefined || ref.apiVersion !== "v1") {
    const [group, version] = asString(ref.apiVersion).includes("/")
      ? asString(ref.apiVersion).split("/")
      : ["", asString(ref.apiVersion)]
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`)
  }
  const resource = registry.catalog.builtin("", "v1", plural)
  const object = (await registry.store.get(keyOf(resource.info, context.namespace, name)))?.object
  if (object === undefined) throw notFound({ group: "", resource: plural }, name)
  if (kind === "Pod" && (asString(dig(object, "spec", "serviceAccountName")) || "default") !== context.name)
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(context.name)} to pod running with different serviceaccount name.`,
    )
  const uid = asString(dig(object, "metadata", "uid"))
  const asked = asString(ref.uid)
  if (asked !== "" && asked !== uid)
    throw conflict(
      { group: "", resource: kind },
      name,
      `the UID in the bound object reference (${asked}) does not match the UID in record. The object might have been deleted and then recreated`,
    )
  return { kind: kind === "Pod" ? "pod" : "secret", name, uid }
}
