// SPDX-License-Identifier: Apache-2.0
//
// What clients of kube-apiserver rely on beyond the recorded cases: taking over fields from client-side apply, webhooks
// with invalid responses, objects in the wrong namespace, discovery of missing resources, debug containers, custom
// kinds with built-in names.

import { createServer, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { eventually } from "@merlon/wire/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { message, startTestServer, type TestServer } from "./testing/server.js"
import { asArray, asObject, asString, dig, type Json, type JsonObject } from "./value.js"
import { parseJson, stringify } from "./wire/json.js"

const APPLY = "application/apply-patch+yaml"
const MERGE = "application/merge-patch+json"
const STRATEGIC = "application/strategic-merge-patch+json"
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const maps = "/api/v1/namespaces/default/configmaps"

let server: TestServer
let admin: TestServer["admin"]

async function define(group: string, kind: string, scope: string, subresources: JsonObject = {}): Promise<void> {
  const plural = `${kind.toLowerCase()}s`
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
  const made = await admin("POST", CRDS, {
    metadata: { name: `${plural}.${group}` },
    spec: {
      ...{ group, scope, names: { plural, kind, singular: kind.toLowerCase() } },
      versions: [{ name: "v1", served: true, storage: true, schema, subresources }],
    },
  })
  expect(made.status).toBe(201)
  const isServed = async () => (await admin("GET", `/apis/${group}/v1/${plural}`)).status === 200
  await eventually(isServed, { what: `${plural}.${group} is served` })
}

beforeAll(async () => {
  server = await startTestServer()
  admin = server.admin
})
afterAll(() => server.close())

describe("server-side apply after client-side apply", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration"
  const config = (name: string, data: JsonObject): JsonObject => ({
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data },
  })
  const clientSide = async (name: string): Promise<void> => {
    const body = config(name, { mine: "1", theirs: "1" })
    const annotations = { [annotation]: `${stringify(body)}\n` }
    const path = `${maps}?fieldManager=kubectl-client-side-apply`
    const metadata = { ...asObject(body.metadata), annotations }
    expect((await admin("POST", path, { ...body, metadata })).status).toBe(201)
  }

  it("takes the fields over without a conflict and keeps the annotation up to date", async () => {
    await clientSide("taken")
    const next = config("taken", { mine: "2", theirs: "1" })
    const applied = await admin("PATCH", `${maps}/taken?fieldManager=kubectl`, next, APPLY)
    expect(applied.status).toBe(200)
    const last = asString(dig(applied.body, "metadata", "annotations", annotation))
    expect(parseJson(last).value).toEqual(next)
    const other = asArray(dig(applied.body, "metadata", "managedFields"))
      .map(asObject)
      .find(entry => entry.manager === "kubectl-client-side-apply")
    expect(dig(other, "fieldsV1", "f:data", "f:mine")).toBeUndefined()
  })

  it("still conflicts if another client has changed a field since", async () => {
    await clientSide("changed")
    await admin("PATCH", `${maps}/changed?fieldManager=jane`, { data: { theirs: "jane's" } }, MERGE)
    const next = config("changed", { mine: "2", theirs: "2" })
    const applied = await admin("PATCH", `${maps}/changed?fieldManager=kubectl`, next, APPLY)
    expect(applied.status).toBe(409)
    expect(asArray(dig(applied.body, "details", "causes")).map(cause => asObject(cause).field)).toEqual([
      ".data.theirs",
    ])
  })

  it("conflicts for every manager except kubectl", async () => {
    await clientSide("other")
    const next = config("other", { mine: "2" })
    expect((await admin("PATCH", `${maps}/other?fieldManager=argo`, next, APPLY)).status).toBe(409)
  })

  it("names every manager that owns a changed field", async () => {
    const body = config("three", { a: "1", b: "1" })
    for (const [manager, key] of [
      ["jane", "a"],
      ["john", "b"],
    ] as const)
      await admin("PATCH", `${maps}/three?fieldManager=${manager}`, config("three", { [key]: "1" }), APPLY)
    const applied = await admin("PATCH", `${maps}/three?fieldManager=me`, { ...body, data: { a: "2", b: "2" } }, APPLY)
    expect(message(applied)).toBe(
      'Apply failed with 2 conflicts: conflicts with "jane":\n- .data.a\nconflicts with "john":\n- .data.b',
    )
  })
})

describe("an apply that creates", () => {
  const body = (name: string, meta: JsonObject): JsonObject => ({
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...meta } },
  })

  it("succeeds with any resourceVersion", async () => {
    const made = await admin("PATCH", `${maps}/fresh?fieldManager=m`, body("fresh", { resourceVersion: "5" }), APPLY)
    expect(made.status).toBe(201)
  })

  it("does not replace an object that another client has deleted", async () => {
    const made = await admin("PATCH", `${maps}/gone?fieldManager=m`, body("gone", { uid: "abc" }), APPLY)
    expect(made.status).toBe(409)
    expect(message(made)).toMatch("uid mismatch: the provided object specified uid abc, and no existing object")
  })
})

describe("a webhook", () => {
  let hook: Server
  let respond: (uid: Json) => JsonObject

  beforeAll(async () => {
    const { serverCertificate: cert, serverKey: key } = server.credentials
    hook = createServer({ cert, key }, (incoming, response) => {
      const chunks: Buffer[] = []
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
      incoming.on("end", () => {
        const uid = dig(parseJson(Buffer.concat(chunks).toString()).value, "request", "uid") ?? ""
        response.end(stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: respond(uid) }))
      })
    })
    await new Promise<void>(resolve => hook.listen(0, "127.0.0.1", resolve))
    const url = `https://127.0.0.1:${(hook.address() as AddressInfo).port}/`
    const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"] }]
    const caBundle = Buffer.from(server.credentials.caCertificate).toString("base64")
    const made = await admin("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", {
      metadata: { name: "odd" },
      webhooks: [
        {
          ...{ name: "odd.merlon.dev", clientConfig: { url, caBundle }, rules, sideEffects: "None" },
          ...{ admissionReviewVersions: ["v1"], failurePolicy: "Fail" },
        },
      ],
    })
    expect(made.status).toBe(201)
  })
  afterAll(() => {
    hook.closeAllConnections()
    hook.close()
  })

  it.each<[string, (uid: Json) => JsonObject, RegExp]>([
    [
      "rejects the request if it answers another request",
      () => ({ uid: "another", allowed: true }),
      /failed calling webhook "odd.merlon.dev": received invalid webhook response: expected response.uid="[0-9a-f-]+", got "another"/,
    ],
    [
      "is named if its patch is not JSON",
      uid => ({ uid, allowed: true, patchType: "JSONPatch", patch: Buffer.from("nonsense").toString("base64") }),
      /admission webhook "odd.merlon.dev" sent a patch that cannot be read/,
    ],
    [
      "is named if its patch is not a list",
      uid => ({ uid, allowed: true, patchType: "JSONPatch", patch: Buffer.from("{}").toString("base64") }),
      /admission webhook "odd.merlon.dev" sent a patch that cannot be read/,
    ],
    [
      "is named if its patch yields an invalid object",
      uid => ({
        ...{ uid, allowed: true, patchType: "JSONPatch" },
        patch: Buffer.from('[{"op":"add","path":"/data","value":7}]').toString("base64"),
      }),
      /the patch of admission webhook "odd.merlon.dev" does not fit/,
    ],
  ])("%s", async (_, answer, want) => {
    respond = answer
    const made = await admin("POST", "/api/v1/namespaces/default/secrets", { metadata: { name: "s" } })
    expect(made.status).toBe(500)
    expect(message(made)).toMatch(want)
  })
})

describe("a cluster-scoped object", () => {
  it.each(["custom", "built in"])("loses a namespace that it names (%s)", async sort => {
    const custom = sort === "custom"
    if (custom) await define("place.merlon.dev", "Widget", "Cluster")
    const path = custom ? "/apis/place.merlon.dev/v1/widgets" : "/api/v1/namespaces"
    const head = custom ? { apiVersion: "place.merlon.dev/v1", kind: "Widget" } : {}
    const made = await admin("POST", path, { ...head, metadata: { name: "w", namespace: "elsewhere" } })
    expect(made.status).toBe(201)
    expect(dig(made.body, "metadata", "namespace")).toBeUndefined()
  })
})

describe("discovery", () => {
  it.each(["/apis/apps/v9", "/apis/apps/v9/deployments", "/api/v9/pods"])(
    "responds to %s with a Status",
    async path => {
      const { status, body } = await admin("GET", path)
      expect([status, dig(body, "reason")]).toEqual([404, "NotFound"])
    },
  )

  it("responds to unknown groups in plain text", async () => {
    expect(await admin("GET", "/apis/nobody.dev/v1")).toMatchObject({ status: 404, text: "404 page not found\n" })
  })

  it("lists the subresources of custom kinds, and omits missing times", async () => {
    await define("found.merlon.dev", "Gadget", "Namespaced", {
      status: {},
      scale: { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" },
    })
    const { body } = await server.client.send({
      ...{ method: "GET", path: "/apis" },
      headers: { Accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" },
    })
    const group = asArray(dig(body, "items"))
      .map(asObject)
      .find(item => dig(item, "metadata", "name") === "found.merlon.dev")
    expect(group?.metadata).toEqual({ name: "found.merlon.dev" })
    const [resource] = asArray(dig(asArray(group?.versions)[0], "resources"))
    expect(asArray(dig(resource, "subresources")).map(sub => asObject(sub).responseKind)).toEqual([
      { group: "found.merlon.dev", version: "v1", kind: "Gadget" },
      { group: "autoscaling", version: "v1", kind: "Scale" },
    ])
  })

  it("lists the values of enum fields", async () => {
    const { body } = await admin("GET", "/openapi/v3/api/v1")
    const spec = dig(body, "components", "schemas", "io.k8s.api.core.v1.ServiceSpec", "properties")
    expect(dig(spec, "type", "enum")).toEqual(["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"])
    expect(dig(spec, "ipFamilies", "items", "enum")).toEqual(["", "IPv4", "IPv6"])
    expect(dig(spec, "type", "description")).toMatch(/\n\nPossible enum values:\n - `"ClusterIP"`\n - `"ExternalName"`/)
    expect(dig(spec, "ipFamilies", "description")).not.toContain("Possible enum values")
  })

  it.each(["v2@v1.0", "v2.v1.0"])("serves OpenAPI as protobuf under the name %s", async name => {
    const type = `application/com.github.proto-openapi.spec.${name}+protobuf`
    const { status, headers } = await server.client.send({
      ...{ method: "GET", path: "/openapi/v2", headers: { Accept: type } },
    })
    expect([status, headers["content-type"]]).toEqual([
      ...[200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"],
    ])
  })
})

describe("kubectl debug", () => {
  const path = "/api/v1/namespaces/default/pods/p/ephemeralcontainers"
  const add = (...ephemeralContainers: JsonObject[]) =>
    admin("PATCH", path, { spec: { ephemeralContainers } }, STRATEGIC)

  it("adds containers to a Pod, and changes or removes none", async () => {
    const spec = { containers: [{ name: "app", image: "i" }] }
    await admin("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "p" }, spec })
    const added = await add({ name: "debugger", image: "busybox", stdin: true, targetContainerName: "app" })
    expect(added.status).toBe(200)
    expect(asArray(dig(added.body, "spec", "ephemeralContainers"))).toMatchObject([
      { name: "debugger", image: "busybox", targetContainerName: "app", terminationMessagePolicy: "File" },
    ])
    for (const wrong of [
      { name: "debugger", image: "another" },
      { name: "app", image: "busybox" },
      { name: "second", image: "" },
      { name: "third", image: "busybox", targetContainerName: "nobody" },
    ])
      expect((await add(wrong)).status).toBe(422)
    const gone = await admin("PATCH", path, { spec: { ephemeralContainers: null } }, MERGE)
    expect(message(gone)).toMatch('existing ephemeral containers "debugger" may not be removed')
    expect((await add({ name: "second", image: "busybox" })).status).toBe(200)
  })
})

describe("a custom kind with the name of a built-in one", () => {
  it.each(["Service", "Pod", "Namespace", "Event"])("is a plain document if it is called %s", async kind => {
    const group = `${kind.toLowerCase()}.merlon.dev`
    await define(group, kind, "Namespaced", { status: {} })
    const path = `/apis/${group}/v1/namespaces/default/${kind.toLowerCase()}s`
    const spec = { clusterIP: "10.0.0.1", nodeName: "n" }
    const made = await admin("POST", path, { apiVersion: `${group}/v1`, kind, metadata: { name: "x" }, spec })
    expect(made.status).toBe(201)
    expect(dig(made.body, "spec")).toEqual(spec)
    expect(dig(made.body, "status")).toBeUndefined()
    const labelled = { metadata: { labels: { a: "b" } }, status: { phase: "x" } }
    const patched = await admin("PATCH", `${path}/x/status`, labelled, MERGE)
    expect(dig(patched.body, "metadata", "labels")).toBeUndefined()
    const gone = await admin("DELETE", `${path}/x`)
    expect([gone.status, dig(gone.body, "status")]).toEqual([200, "Success"])
    expect((await admin("GET", `${path}/x`)).status).toBe(404)
  })
})

describe("responses of kube-apiserver 1.36.4", () => {
  const PATCH = "application/json-patch+json"
  const gadgets = "/apis/answers.example/v1/namespaces/default/gadgets"
  const unnamed = "the name of the object (stored based on URL) was undeterminable: name must be provided"
  const config = { apiVersion: "v1", kind: "ConfigMap" }
  const notOperation = (what: string) => `error decoding patch: json: cannot unmarshal ${what}`

  beforeAll(async () => {
    await define("answers.example", "Gadget", "Namespaced")
    await define("answers.example", "Gizmo", "Namespaced")
    expect((await admin("POST", maps, { ...config, metadata: { name: "stored" } })).status).toBe(201)
  })

  interface Case {
    readonly what: string
    readonly path: string
    readonly body: Json
    /** The type of a patch; undefined for an update. */
    readonly type?: string
    readonly status: number
    readonly received?: string
  }
  const another = { apiVersion: "answers.example/v1", kind: "Gizmo", metadata: { name: "a" } }
  const stored = `${maps}/stored`
  const cases: Case[] = [
    { what: "an update without a name", path: stored, body: config, status: 400, received: unnamed },
    {
      ...{ what: "a merge patch that removes the name", path: stored, type: MERGE, body: { metadata: { name: null } } },
      ...{ status: 400, received: unnamed },
    },
    {
      ...{
        what: "apply of a new object without a name",
        path: `${maps}/new?fieldManager=x`,
        type: APPLY,
        body: config,
      },
      ...{ status: 400, received: unnamed.replace("stored", "new") },
    },
    {
      ...{ what: "apply of a stored object without a name", path: `${stored}?fieldManager=x`, type: APPLY },
      ...{ body: config, status: 200 },
    },
    {
      ...{ what: "apply of another kind", path: `${gadgets}/a?fieldManager=x`, type: APPLY, body: another },
      ...{ status: 400, received: "invalid object type: answers.example/v1, Kind=Gizmo" },
    },
    {
      ...{ what: "apply of another group", path: `${gadgets}/a?fieldManager=x`, type: APPLY },
      ...{
        body: { ...config, metadata: { name: "a" } },
        status: 400,
        received: "invalid object type: /v1, Kind=ConfigMap",
      },
    },
    {
      ...{ what: "a JSON patch of a number", path: stored, type: PATCH, body: [1], status: 400 },
      received: notOperation("number into Go value of type handlers.jsonPatchOp"),
    },
    {
      ...{ what: "a JSON patch whose op is a number", path: stored, type: PATCH, body: [{ op: 1 }], status: 400 },
      received: notOperation("number into Go struct field jsonPatchOp.op of type string"),
    },
    {
      ...{ what: "a JSON patch that is no list", path: stored, type: PATCH, body: {}, status: 400 },
      received: notOperation("object into Go value of type []handlers.jsonPatchOp"),
    },
    {
      ...{ what: "a JSON patch of null", path: stored, type: PATCH, body: [null], status: 422 },
      received: "the server rejected our request due to an error in our request",
    },
    {
      ...{ what: "a JSON patch of what is not there", path: `${maps}/none`, type: PATCH, body: [1] },
      ...{ status: 404, received: 'configmaps "none" not found' },
    },
  ]

  it.each(cases)("$what", async ({ path, body, type, status, received: said = "" }) => {
    const answer = await admin(type === undefined ? "PUT" : "PATCH", path, body, type ?? "application/json")
    expect([answer.status, answer.status < 300 ? "" : message(answer)]).toEqual([status, said])
  })

  it("a continued list accepts no resource version but 0", async () => {
    const { body } = await admin("GET", "/api/v1/namespaces?limit=1")
    const next = `/api/v1/namespaces?limit=1&continue=${asString(dig(body, "metadata", "continue"))}&resourceVersion=`
    expect((await admin("GET", `${next}0`)).status).toBe(200)
    for (const version of ["1", asString(dig(body, "metadata", "resourceVersion")), "abc"])
      expect(message(await admin("GET", next + version))).toBe(
        "specifying resource version is not allowed when using continue",
      )
  })

  it.each([
    [200, ["/", "/apis", "/apis/apps", "/apis/answers.example", "/apis/answers.example/v1", "/openapi/v2", "/metrics"]],
    [405, ["/api", "/api/v1", "/apis/apps/v1", "/version", "/openid/v1/jwks"]],
  ])("POST gets %i for documents of some servers", async (status, paths) => {
    for (const path of paths) expect([path, (await admin("POST", path, {})).status]).toEqual([path, status])
  })
})
