// SPDX-License-Identifier: Apache-2.0
//
// The whole admission chain, with webhooks on real connections: the order of calls, what webhooks may change and
// reject, and that a webhook that does not respond rejects the request unless its failure policy is Ignore.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { loadCredentials } from "../auth/pki.js"
import { Rbac } from "../auth/rbac.js"
import type { Store } from "../store/store.js"
import { OracleWebhooks } from "../testing/oracle/webhooks.js"
import { catalog, granted, stored } from "../testing/stored.js"
import { asObject, asString, dig, type Json, type JsonObject } from "../value.js"
import { AdmissionChain } from "./admission.js"
import { closeAgents } from "./client.js"
import { type Asked, call } from "./testing/call.js"

let folder: string
let hooks: OracleWebhooks
let caBundle: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "admission-"))
  const { caCertificate, serverCertificate, serverKey } = await loadCredentials(folder, ["hook.shop.svc"], Date.now())
  caBundle = Buffer.from(caCertificate).toString("base64")
  hooks = new OracleWebhooks(serverCertificate, serverKey)
  await hooks.start()
})
beforeEach(() => {
  hooks.routes = {}
})
afterEach(() => void hooks.take())
afterAll(async () => {
  await closeAgents()
  await hooks.close()
  await rm(folder, { recursive: true, force: true })
})

const PODS = [{ operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }]

type Sort = "Mutating" | "Validating"

function configured(sort: Sort, name: string, ...webhooks: JsonObject[]): JsonObject {
  return {
    ...{ apiVersion: "admissionregistration.k8s.io/v1", kind: `${sort}WebhookConfiguration`, metadata: { name } },
    webhooks: webhooks.map(hook => ({
      ...{ rules: PODS, sideEffects: "None", admissionReviewVersions: ["v1"] },
      clientConfig: { url: `${hooks.url}/${asString(hook.name)}`, caBundle },
      ...hook,
    })),
  }
}

const chain = (objects: readonly JsonObject[]): AdmissionChain => {
  // The admission chain only reads from the store; `stored` implements the reads that it uses.
  const store = stored(objects) as Store
  return new AdmissionChain(store, catalog, new Rbac(store, catalog))
}

const answers = (name: string, response: JsonObject): void => {
  const body = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }
  hooks.routes[`/${name}`] = { body: { ...body, response: { uid: "<echo-uid>", allowed: true, ...response } } }
}
const patch = (...operations: JsonObject[]): JsonObject => ({
  ...{ patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(operations)).toString("base64") },
})
const label = (key: string): JsonObject => patch({ op: "add", path: `/metadata/labels/${key}`, value: "set" })

const pod = (labels: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "shop", labels } },
  spec: { containers: [{ name: "c", image: "i" }] },
})

/** Returns the labels after mutation, or the message of the rejection. */
async function mutated(objects: readonly JsonObject[], asked: Asked = {}): Promise<Json> {
  const { kind, request, context } = call({ object: pod(), ...asked })
  return chain(objects)
    .mutate(kind, request, context)
    .then(
      object => Object.keys(asObject(dig(object, "metadata", "labels"))),
      ({ code, message }) => `${code} ${message}`,
    )
}

/** Returns `passed` or the message of the rejection, followed by the warnings. */
async function validated(objects: readonly JsonObject[], asked: Asked = {}, more: object = {}): Promise<Json[]> {
  const warned: string[] = []
  const { kind, request, context } = call({ object: pod(), warn: text => warned.push(text), ...asked })
  const verdict = await chain(objects)
    .validate(kind, request, { ...context, ...more })
    .then(
      () => "passed",
      ({ code, reason, message }) => `${code} ${reason} ${message}`,
    )
  return [verdict, ...warned]
}

const asked = (): string[] => hooks.take().map(pending => asString(dig(pending, "path")).split("?")[0] ?? "")

describe("mutating webhooks", () => {
  it("run in order, and each sees the changes of the previous one", async () => {
    answers("first", label("a"))
    answers("second", label("b"))
    const all = [configured("Mutating", "one", { name: "first" }), configured("Mutating", "two", { name: "second" })]
    expect(await mutated(all)).toEqual(["a", "b"])
    const [, second] = hooks.take()
    expect(dig(second, "body", "request", "object", "metadata", "labels")).toEqual({ a: "set" })
  })

  it("with a reinvocation policy are called again after a later change", async () => {
    answers("again", label("a"))
    answers("once", label("b"))
    const first = { name: "again", reinvocationPolicy: "IfNeeded" }
    await mutated([configured("Mutating", "all", first, { name: "once" })])
    expect(asked()).toEqual(["/again", "/again", "/once"])
  })

  it("reject a patch that does not apply, whatever their failure policy", async () => {
    answers("bad", patch({ op: "remove", path: "/metadata/nothing" }))
    expect(await mutated([configured("Mutating", "one", { name: "bad", failurePolicy: "Ignore" })])).toMatch(/^500 /)
  })

  it("see a Pod with the defaults that the server adds", async () => {
    answers("look", {})
    await mutated([configured("Mutating", "one", { name: "look" })])
    expect(dig(hooks.take()[0], "body", "request", "object", "spec", "priority")).toBe(0)
  })
})

describe("validating webhooks", () => {
  const one = (more: JsonObject = {}): JsonObject[] => [configured("Validating", "one", { name: "hook", ...more })]

  it.each<[string, JsonObject, string[]]>([
    ["allow", {}, ["passed"]],
    ["warn", { warnings: ["mind"] }, ["passed", "mind"]],
    [
      "reject with their own code, reason and message",
      { allowed: false, status: { code: 409, reason: "Conflict", message: "taken" }, warnings: ["mind"] },
      ['409 Conflict admission webhook "hook" denied the request: taken', "mind"],
    ],
    [
      "reject without a message",
      { allowed: false },
      ['400  admission webhook "hook" denied the request without explanation'],
    ],
    ...[200, 399, 600, 418.5, "403"].map((code): [string, JsonObject, string[]] => [
      `reject even with the status ${JSON.stringify(code)}, which is not an error`,
      { allowed: false, status: { code, message: "no" } },
      ['400  admission webhook "hook" denied the request: no'],
    ]),
  ])("%s", async (_, response, want) => {
    answers("hook", response)
    expect(await validated(one())).toEqual(want)
  })

  it("reject the request when they do not respond, unless their failure policy is Ignore", async () => {
    hooks.routes["/hook"] = { status: 500, rawBody: "{}" }
    expect(await validated(one())).toEqual([
      expect.stringMatching(/^500 InternalError Internal error occurred: failed calling webhook "hook": /),
    ])
    expect(await validated(one({ failurePolicy: "Ignore" }))).toEqual(["passed"])
  })

  it("reject the request when their condition fails, unless their failure policy is Ignore", async () => {
    answers("hook", {})
    const matchConditions = [{ name: "c", expression: "object.nothing.at == 'all'" }]
    expect(await validated(one({ matchConditions }))).toEqual([expect.stringMatching(/^403 Forbidden pods "p" is /)])
    expect(await validated(one({ matchConditions, failurePolicy: "Ignore" }))).toEqual(["passed"])
    expect(asked()).toEqual([])
  })

  it("are not called for requests that their rules, selectors or conditions exclude", async () => {
    const nowhere = { matchLabels: { never: "set" } }
    for (const more of [
      { rules: [] },
      { objectSelector: nowhere },
      { namespaceSelector: nowhere },
      { matchConditions: [{ name: "c", expression: "false" }] },
    ])
      expect(await validated(one(more))).toEqual(["passed"])
    expect(asked()).toEqual([])
  })

  it("are selected by the stored labels of the object's namespace", async () => {
    answers("hook", { allowed: false })
    const selected = one({ namespaceSelector: { matchLabels: { mesh: "on" } } })
    const namespace = (mesh: string): JsonObject => ({
      ...{ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels: { mesh } } },
    })
    expect(await validated([...selected, namespace("off")])).toEqual(["passed"])
    expect(await validated([...selected, namespace("on")])).toEqual([expect.stringMatching(/^400 /)])
  })

  it("with side effects are not called in a dry run, and the dry run is rejected", async () => {
    answers("hook", {})
    const dry = { dryRun: true }
    expect(await validated(one(), {}, dry)).toEqual(["passed"])
    expect(await validated(one({ sideEffects: "NoneOnDryRun" }), {}, dry)).toEqual(["passed"])
    asked()
    expect(await validated(one({ sideEffects: "Some" }), {}, dry)).toEqual([
      '400 BadRequest admission webhook "hook" does not support dry run',
    ])
    expect(asked()).toEqual([])
  })

  it("are not called for webhook configurations", async () => {
    const rules = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }]
    const object = configured("Validating", "one", { name: "hook", rules })
    const plural = "validatingwebhookconfigurations"
    expect(await validated([object], { plural, group: "admissionregistration.k8s.io", object })).toEqual(["passed"])
  })
})

describe("a webhook behind a Service", () => {
  const config = { service: { namespace: "shop", name: "hook", path: "hook" }, caBundle: "" }
  const ask = (...objects: JsonObject[]): Promise<Json[]> => {
    const clientConfig = { ...config, caBundle }
    return validated([configured("Validating", "one", { name: "hook", clientConfig }), ...objects])
  }
  const service = (spec: JsonObject = {}): JsonObject => ({
    ...{ apiVersion: "v1", kind: "Service", metadata: { namespace: "shop", name: "hook" }, spec },
  })
  const slice = (ready: boolean): JsonObject => ({
    ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
    metadata: { namespace: "shop", name: "hook-1", labels: { "kubernetes.io/service-name": "hook" } },
    ports: [{ port: Number(new URL(hooks.url).port) }],
    endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready } }],
  })

  it("is called at a ready endpoint, under the Service's name", async () => {
    answers("hook", { allowed: false, status: { message: "reached" } })
    expect(await ask(service(), slice(true))).toEqual([expect.stringMatching(/denied the request: reached$/)])
  })

  it("that is missing rejects the request", async () => {
    expect(await ask()).toEqual([expect.stringMatching(/service "hook" not found$/)])
  })

  it("is called at the external name of the Service", async () => {
    answers("hook", { allowed: false, status: { message: "reached" } })
    const { hostname: externalName } = new URL(hooks.url)
    const port = Number(new URL(hooks.url).port)
    const clientConfig = { service: { ...config.service, port }, caBundle }
    const all = [configured("Validating", "one", { name: "hook", clientConfig }), service({ externalName })]
    expect(await validated(all)).toEqual([expect.stringMatching(/denied the request: reached$/)])
  })
})

describe("an update that would create", () => {
  const create = async (objects: JsonObject[]): Promise<string> => {
    const { kind, context } = call()
    return chain(objects)
      .authorizeCreate(kind, context)
      .then(
        () => "passed",
        ({ code, message }) => `${code} ${message}`,
      )
  }
  it.each<[string, string, string]>([
    ["passes for a user who may create", "create", "passed"],
    [
      "is forbidden to a user who may only update",
      "update",
      '403 pods "x" is forbidden: User "u" cannot create resource "pods" in API group "" in the namespace "shop"',
    ],
  ])("%s", async (_, verb, want) => {
    expect(await create(granted("u", "r", [{ verbs: [verb], resources: ["pods"] }], "shop"))).toBe(want)
  })
})
