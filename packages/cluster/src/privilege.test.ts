// SPDX-License-Identifier: Apache-2.0
//
// No user gets more permissions than granted: writes that create objects, roles and bindings that grant permissions,
// subresources that change more than their part, identities that a client claims, and webhooks that move objects.

import { stat } from "node:fs/promises"
import type { IncomingMessage } from "node:http"
import { createServer, request, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { eventually } from "@merlon/wire/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Credentials } from "./auth/pki.js"
import type { Cluster } from "./cluster.js"
import type { Answer, OracleClient } from "./testing/oracle/client.js"
import { type Method, message, startTestServer, type TestServer } from "./testing/server.js"
import { asArray, asObject, asString, dig, type Json, type JsonObject } from "./value.js"
import { parseJson, stringify } from "./wire/json.js"

const RBAC = "/apis/rbac.authorization.k8s.io/v1"
const core = "/api/v1/namespaces/default"

let server: TestServer
let cluster: Cluster
let credentials: Credentials
let client: OracleClient
let hook: Server
let respond: (request: JsonObject) => JsonObject = () => ({ allowed: true })
let now = 0
const admin: TestServer["admin"] = (...request) => server.admin(...request)

beforeAll(async () => {
  server = await startTestServer({ clock: () => Date.now() + now })
  ;({ cluster, credentials, client } = server)
  hook = createServer({ cert: credentials.serverCertificate, key: credentials.serverKey }, (incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.on("end", () => {
      const review = asObject(asObject(parseJson(Buffer.concat(chunks).toString()).value).request)
      response.end(
        stringify({
          apiVersion: "admission.k8s.io/v1",
          kind: "AdmissionReview",
          response: { uid: review.uid ?? "", ...respond(review) },
        }),
      )
    })
  })
  await new Promise<void>(resolve => hook.listen(0, "127.0.0.1", resolve))
})

afterAll(async () => {
  hook.closeAllConnections()
  hook.close()
  await server.close()
})

async function as(name: string, method: Method, path: string, body: Json, type?: string): Promise<Answer> {
  return client.send({
    method,
    path: path.split("?")[0] ?? path,
    query: Object.fromEntries(new URLSearchParams(path.split("?")[1] ?? "")),
    body,
    user: { name, groups: ["system:authenticated"] },
    ...(type === undefined ? {} : { headers: { "Content-Type": type } }),
  })
}

/** Creates a user with exactly these permissions, in the whole cluster. */
async function grant(name: string, verbs: string[], resources: string[], apiGroups = [""]): Promise<void> {
  const rules = [{ verbs, apiGroups, resources }]
  expect((await admin("POST", `${RBAC}/clusterroles`, { metadata: { name }, rules })).status).toBe(201)
  const binding = {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ kind: "User", name, apiGroup: "rbac.authorization.k8s.io" }],
  }
  expect((await admin("POST", `${RBAC}/clusterrolebindings`, binding)).status).toBe(201)
}

describe("writes that create objects", () => {
  it.each([
    [
      "an apply patch",
      "PATCH",
      "patch",
      "application/apply-patch+yaml",
      ["configmaps"],
      "",
      `${core}/configmaps/x?fieldManager=me`,
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } },
    ],
    [
      "a replace",
      "PUT",
      "update",
      "application/json",
      ["leases"],
      "coordination.k8s.io",
      "/apis/coordination.k8s.io/v1/namespaces/default/leases/x",
      { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "x" } },
    ],
  ] as const)(
    "rejects %s of a missing object without the permission to create",
    async (_, method, verb, type, resources, group, path, body) => {
      const name = `only-${verb}`
      await grant(name, [verb], [...resources], [group])
      const rejected = await as(name, method, path, body, type)
      expect(rejected.status).toBe(403)
      expect(message(rejected)).toMatch(
        `User "${name}" cannot create resource "${resources[0]}" in API group "${group}"`,
      )
      expect((await admin("GET", path.split("?")[0] ?? "")).status).toBe(404)
      await grant(`${name}-too`, [verb, "create"], [...resources], [group])
      expect((await as(`${name}-too`, method, path, body, type)).status).toBe(201)
    },
  )
})

describe("roles and bindings", () => {
  beforeAll(() =>
    grant(
      "role-writer",
      ["create", "update", "get"],
      ["clusterroles", "clusterrolebindings"],
      ["rbac.authorization.k8s.io"],
    ),
  )

  it("rejects an aggregated role for users who are not administrators", async () => {
    const aggregationRule = {
      clusterRoleSelectors: [{ matchLabels: { "kubernetes.io/bootstrapping": "rbac-defaults" } }],
    }
    const created = await as("role-writer", "POST", `${RBAC}/clusterroles`, {
      metadata: { name: "everything" },
      aggregationRule,
    })
    expect(created.status).toBe(403)
    expect(message(created)).toMatch("must have cluster-admin privileges to use the aggregationRule")
    const own = asObject((await admin("GET", `${RBAC}/clusterroles/role-writer`)).body)
    const updated = await as("role-writer", "PUT", `${RBAC}/clusterroles/role-writer`, { ...own, aggregationRule })
    expect(updated.status).toBe(403)
  })

  it("rejects grants of permissions that the user lacks, by role or binding", async () => {
    const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }]
    const written = await as("role-writer", "POST", `${RBAC}/clusterroles`, { metadata: { name: "more" }, rules })
    expect(written.status).toBe(403)
    expect(message(written)).toMatch("is attempting to grant RBAC permissions not currently held")
    const bound = await as("role-writer", "POST", `${RBAC}/clusterrolebindings`, {
      metadata: { name: "more" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "User", name: "role-writer", apiGroup: "rbac.authorization.k8s.io" }],
    })
    expect(bound.status).toBe(403)
  })

  it("rejects a binding to a missing role", async () => {
    const answer = await as("role-writer", "POST", `${RBAC}/clusterrolebindings`, {
      metadata: { name: "in-advance" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "to-come" },
      subjects: [{ kind: "User", name: "role-writer", apiGroup: "rbac.authorization.k8s.io" }],
    })
    expect(answer.status).toBe(404)
    expect(message(answer)).toBe('clusterroles.rbac.authorization.k8s.io "to-come" not found')
  })
})

describe("impersonation", () => {
  it("of users makes no user an administrator", async () => {
    await grant("actor", ["impersonate"], ["users"])
    await admin("POST", `${core}/serviceaccounts`, { metadata: { name: "actor" } })
    await admin("POST", `${RBAC}/clusterrolebindings`, {
      metadata: { name: "actor-account" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "actor" },
      subjects: [{ kind: "ServiceAccount", name: "actor", namespace: "default" }],
    })
    const issued = await admin("POST", `${core}/serviceaccounts/actor/token`, { spec: {} })
    const user = { bearer: asString(dig(issued.body, "status", "token")) }
    const headers = { "Impersonate-User": "jane" }
    expect((await client.send({ method: "GET", path: "/api", user, headers })).status).toBe(200)
    const more = { ...headers, "Impersonate-Group": "system:masters" }
    expect((await client.send({ method: "GET", path: "/api", user, headers: more })).status).toBe(403)
  })

  it.each(["%E0%A4%A", "__proto__", "constructor"])("checks the extra %s like any other", async key => {
    const { status } = await client.send({
      method: "GET",
      path: "/api",
      headers: { "Impersonate-User": "someone", [`Impersonate-Extra-${key}`]: "x" },
    })
    expect(status).toBe(200)
  })
})

describe("subresources of pods", () => {
  const pod = { metadata: { name: "p", labels: { app: "a" } }, spec: { containers: [{ name: "c", image: "one" }] } }

  it.each(["ephemeralcontainers", "resize"])("%s changes neither labels nor images", async sub => {
    await admin("POST", `${core}/pods`, { ...pod, metadata: { ...pod.metadata, name: sub } })
    await grant(`pods-${sub}`, ["patch"], [`pods/${sub}`])
    const answer = await as(
      `pods-${sub}`,
      "PATCH",
      `${core}/pods/${sub}/${sub}`,
      {
        metadata: { labels: { app: "b" } },
        spec: { containers: [{ name: "c", image: "two" }], ephemeralContainers: [] },
      },
      "application/strategic-merge-patch+json",
    )
    expect(answer.status).toBe(200)
    const after = (await admin("GET", `${core}/pods/${sub}`)).body
    expect(dig(after, "metadata", "labels")).toEqual({ app: "a" })
    expect(asArray(dig(after, "spec", "containers")).map(item => asObject(item).image)).toEqual(["one"])
  })
})

describe("certificate signing requests", () => {
  const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

  it("have the sender as user, whatever the sender claims, and never change it", async () => {
    await grant("requester", ["create", "update"], ["certificatesigningrequests"], ["certificates.k8s.io"])
    const spec = {
      request: "",
      signerName: "example.com/any",
      usages: ["client auth"],
      username: "admin",
      groups: ["system:masters"],
      uid: "1",
      extra: { a: ["b"] },
    }
    const created = await as("requester", "POST", requests, { metadata: { name: "csr" }, spec })
    expect(created.status).toBe(201)
    expect(dig(created.body, "spec", "username")).toBe("requester")
    expect(dig(created.body, "spec", "groups")).toEqual(["system:authenticated"])
    expect(dig(created.body, "spec", "extra")).toBeUndefined()
    const updated = await as("requester", "PUT", `${requests}/csr`, { ...asObject(created.body), spec })
    expect(dig(updated.body, "spec", "username")).toBe("requester")
  })
})

describe("tokens", () => {
  it("expire with the Pod they are bound to, even if a finalizer still holds it", async () => {
    await admin("POST", `${core}/serviceaccounts`, { metadata: { name: "runner" } })
    await admin("POST", `${core}/pods`, {
      metadata: { name: "held", finalizers: ["example.com/hold"] },
      spec: { serviceAccountName: "runner", containers: [{ name: "c", image: "i" }] },
    })
    const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "held" }
    const issued = await admin("POST", `${core}/serviceaccounts/runner/token`, {
      spec: { audiences: [], boundObjectRef },
    })
    const bearer = asString(dig(issued.body, "status", "token"))
    const status = async (): Promise<number> =>
      (await client.send({ method: "GET", path: "/api", user: { bearer } })).status
    expect(await status()).toBe(200)
    expect((await admin("DELETE", `${core}/pods/held`)).status).toBe(200)
    now += 120_000
    expect(await status()).toBe(401)
    now = 0
  })
})

describe("webhooks", () => {
  const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"

  beforeAll(async () => {
    const { port } = hook.address() as AddressInfo
    const caBundle = Buffer.from(credentials.caCertificate).toString("base64")
    const answer = await admin("POST", configurations, {
      metadata: { name: "hostile" },
      webhooks: [
        {
          name: "hostile.example.com",
          clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
          rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"] }],
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    })
    expect(answer.status).toBe(201)
  })
  afterAll(() => admin("DELETE", `${configurations}/hostile`))

  it.each([99_999, 1000, 600, 4e20])("that reject with code %d affect only that request", async code => {
    respond = () => ({ allowed: false, status: { code, message: "no" } })
    const answer = await admin("POST", `${core}/secrets`, { metadata: { name: "s" } })
    expect(answer.status).toBe(400)
    expect(message(answer)).toBe('admission webhook "hostile.example.com" denied the request: no')
  })

  it("cannot move an object to another namespace", async () => {
    const patch = Buffer.from('[{"op":"replace","path":"/metadata/namespace","value":"kube-system"}]').toString(
      "base64",
    )
    respond = () => ({ allowed: true, patchType: "JSONPatch", patch })
    const answer = await admin("POST", `${core}/secrets`, { metadata: { name: "moved" } })
    expect(answer.status).toBe(400)
    expect(message(answer)).toBe(
      "the namespace of the provided object does not match the namespace sent on the request",
    )
  })
})

describe("scale of custom resources", () => {
  it("cannot change more than the scale of the object", async () => {
    const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    const answer = await admin("POST", crds, {
      metadata: { name: "traps.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural: "traps", kind: "Trap" },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
            subresources: {
              scale: { specReplicasPath: ".spec.__proto__.polluted", statusReplicasPath: ".status.replicas" },
            },
          },
        ],
      },
    })
    expect(answer.status).toBe(201)
    const traps = "/apis/example.com/v1/namespaces/default/traps"
    const trap = { apiVersion: "example.com/v1", kind: "Trap", metadata: { name: "t" }, spec: {} }
    await eventually(async () => (await admin("POST", traps, trap)).status !== 404, { what: "the new kind is served" })
    await admin("PUT", `${traps}/t/scale`, { metadata: { name: "t" }, spec: { replicas: 3 } })
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})

describe("watches", () => {
  it("send an initial state of any size to a client that reads it", async () => {
    await admin("POST", "/api/v1/namespaces", { metadata: { name: "large" } })
    const maps = "/api/v1/namespaces/large/configmaps"
    const data = { k: "x".repeat(900_000) }
    for (let i = 0; i < 24; i++) await admin("POST", maps, { metadata: { name: `m-${i}` }, data })
    const { caCertificate: ca, adminCertificate: cert, adminKey: key } = credentials
    const query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    const outgoing = request(`${cluster.url}${maps}?${query}`, { ca, cert, key })
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on("response", resolve).on("error", reject)
      outgoing.end()
    })
    const chunks: string[] = []
    response.setEncoding("utf8")
    for await (const chunk of response) {
      chunks.push(chunk as string)
      if (chunks.slice(-2).join("").includes("k8s.io/initial-events-end")) break
    }
    const types = chunks.join("").match(/^\{"type":"[A-Z]+"/gm)
    expect(types).toEqual([...Array<string>(24).fill('{"type":"ADDED"'), '{"type":"BOOKMARK"'])
  })
})

describe("namespaces", () => {
  it.each(["Foreground", "Orphan"])("deleted with policy %s stay until their content is deleted", async policy => {
    const name = `held-${policy.toLowerCase()}`
    const path = `/api/v1/namespaces/${name}`
    await admin("POST", "/api/v1/namespaces", { metadata: { name } })
    await admin("POST", `${path}/configmaps`, { metadata: { name: "heirloom", finalizers: ["example.com/hold"] } })
    await admin("DELETE", path, { propagationPolicy: policy })
    let namespace = await admin("GET", path)
    await eventually(
      async () => {
        namespace = await admin("GET", path)
        return asArray(dig(namespace.body, "metadata", "finalizers")).length === 0
      },
      { what: `namespace ${name} has no finalizers in its metadata` },
    )
    expect(dig(namespace.body, "status", "phase")).toBe("Terminating")
  })
})

describe("files", () => {
  it.each(["store", "pki"])("makes %s readable for its owner only", async name => {
    expect((await stat(join(server.folder, "cluster", name))).mode & 0o077).toBe(0)
  })
})
