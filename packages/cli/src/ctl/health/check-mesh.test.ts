// SPDX-License-Identifier: Apache-2.0
import { ApiError } from "@merlon/control/kubernetes"
import { meshNames } from "@merlon/policy/mesh"
import { expect, it, test } from "vitest"
import { knownKinds } from "../catalog/known-kinds.js"
import { checkExitCode, checkObject, checkText } from "../commands/check.js"
import type { Session } from "../session.js"
import { checkMesh } from "./check-mesh.js"

const names = meshNames()
const missing = (path: string) => new ApiError(404, "NotFound", `could not find the requested resource ${path}`)
const condition = (type: string, status: string, message: string) => ({
  status: { conditions: [{ type, status, message }] },
})
const object = (name: string, more: object) => ({ metadata: { name, namespace: "foo" }, ...more })

interface Cluster {
  readonly served?: (plural: string) => boolean
  readonly webhooks?: readonly object[]
  readonly objects?: { readonly [plural: string]: readonly object[] }
  readonly forbidden?: string
  readonly proxies?: readonly object[]
  readonly pods?: readonly object[]
}

function session({
  served = () => true,
  webhooks = [HOOK],
  objects = {},
  forbidden,
  proxies = [],
  pods = [],
}: Cluster): Session {
  const kinds = knownKinds(names).filter(({ plural }) => served(plural))
  const api = {
    request: async ({ path }: { path: string }) => {
      const place = path.split("?")[0] ?? ""
      if (forbidden !== undefined && place.includes(forbidden)) throw new ApiError(403, "Forbidden", "you may not")
      if (place === "/version") return { gitVersion: "v1.30.0" }
      if (place.endsWith("validatingwebhookconfigurations")) return { items: webhooks }
      if (place.endsWith("/proxies")) return { items: proxies }
      if (place.endsWith("/pods")) return { items: pods }
      if (place.endsWith("/namespaces")) return { items: [OPTED_IN] }
      const group = kinds.find(kind => place === `/apis/${kind.group}/${kind.version}`)
      if (group !== undefined) {
        return { resources: kinds.filter(kind => kind.group === group.group).map(({ plural }) => ({ name: plural })) }
      }
      const kind = kinds.find(({ plural }) => place.endsWith(`/${plural}`))
      if (kind === undefined) throw missing(place)
      return { items: objects[kind.plural] ?? [] }
    },
  }
  // The code under test uses only the API.
  return { api, names, origin: "context `test`" } as unknown as Session
}

const HOOK = { metadata: { name: "merlon" }, webhooks: [{ rules: [{ apiGroups: [names.securityGroup] }] }] }
const ready = object("a", condition("Ready", "True", "enforced"))
const unready = object("b", condition("Ready", "False", "no proxy"))
const unjudged = object("u", {
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "UnjudgedPorts", status: "True", message: "UDP" },
    ],
  },
})
const held = object("c", condition("Holds", "True", "proved"))
const broken = object("d", condition("Holds", "False", "GET / is allowed"))

const OPTED_IN = { metadata: { name: "foo", labels: { [names.injectionLabel]: "enabled" } } }
const annotations = { [`${names.domain}/proxy`]: "xserver", [`${names.domain}/injected`]: "3" }
const CAPTURE = { name: `${names.mesh}-init`, args: ["capture", "--map", ""] }
const spec = { initContainers: [CAPTURE, { name: `${names.mesh}-xserver` }], containers: [{ name: "app" }] }
const POD = { metadata: { name: "web-1", namespace: "foo", annotations }, spec, status: { phase: "Running" } }
const BARE = { metadata: { name: "web-1", namespace: "foo" }, spec: { containers: [{ name: "app" }] } }
const CURRENT = { metadata: { name: "web-1", namespace: "foo" }, spec: { behind: 0 } }
const LATE = { metadata: { name: "web-1", namespace: "foo" }, spec: { behind: 2, lagMs: 4_000 } }
const WELL = ["well", "well"]
const FIVE = ["well", "well", "well", "well", "well"]

test.each<[string, Cluster, readonly string[]]>([
  [
    "is well",
    { objects: { authorizationpolicies: [ready], policyinvariants: [held] } },
    ["well", "well", "well", "well", "well", ...WELL],
  ],
  [
    "lacks a kind",
    { served: plural => plural !== "policyinvariants" },
    ["well", "wrong", "well", "well", "well", ...WELL],
  ],
  ["lacks all of them", { served: () => false }, ["well", "wrong", "well", "wrong", ...WELL]],
  ["has no webhook", { webhooks: [] }, ["well", "well", "wrong", "well", "well", ...WELL]],
  [
    "has a policy that waits",
    { objects: { authorizationpolicies: [ready, unready] } },
    ["well", "well", "well", "wrong", "wrong", "well", ...WELL],
  ],
  [
    "has ports that no policy judges",
    { objects: { authorizationpolicies: [ready, unjudged, unjudged] } },
    ["well", "well", "well", "well", "note", "well", ...WELL],
  ],
  [
    "has a broken invariant",
    { objects: { policyinvariants: [held, broken] } },
    ["well", "well", "well", "well", "wrong", ...WELL],
  ],
  ["may not be asked for webhooks", { forbidden: "webhook" }, ["well", "well", "unknown", "well", "well", ...WELL]],
  ["has a proxy that is behind", { proxies: [LATE], pods: [POD] }, [...FIVE, "wrong", "well"]],
  ["has a proxy that is not connected", { pods: [POD] }, [...FIVE, "wrong", "well"]],
  ["has all of them", { proxies: [CURRENT], pods: [POD] }, [...FIVE, ...WELL]],
  ["has a Pod without the proxy that it was to have", { pods: [{ ...POD, ...BARE }] }, [...FIVE, "well", "wrong"]],
])("a mesh that %s", async (_, cluster, expected) => {
  expect((await checkMesh(session(cluster))).map(({ verdict }) => verdict)).toEqual(expected)
})

it.each<[string, Cluster, number, boolean]>([
  ["is well", {}, 0, true],
  ["has something wrong", { webhooks: [] }, 1, false],
  ["may not be asked for all of it", { forbidden: "webhook" }, 4, false],
  [
    "has an undecided invariant",
    { objects: { policyinvariants: [object("e", condition("Holds", "Unknown", "it takes too long"))] } },
    4,
    false,
  ],
  [
    "has something wrong, and may not be asked for all of it",
    { webhooks: [], forbidden: "policyinvariants" },
    1,
    false,
  ],
])("a script that checks a mesh that %s gets an exit code", async (_, cluster, code, well) => {
  const checks = await checkMesh(session(cluster))
  expect(checkExitCode(checks)).toBe(code)
  expect(JSON.parse(checkObject(checks, "json"))).toMatchObject({ well })
})

it("reports what to do next", async () => {
  const checks = await checkMesh(
    session({
      ...{ objects: { authorizationpolicies: [unready] }, webhooks: [], proxies: [LATE] },
      pods: [POD, { ...POD, metadata: { ...POD.metadata, name: "web-2" } }, { ...POD, ...BARE }],
    }),
  )
  await expect(`${checkText(checks)}\n`).toMatchFileSnapshot("golden/check.txt")
  await expect(`${checkObject(checks, "json")}\n`).toMatchFileSnapshot("golden/check.json.txt")
})

it("fails without a server", async () => {
  const away = {
    api: { request: () => Promise.reject(new ApiError(0, "api-unreachable", "rejected")) },
    names,
  } as unknown as Session // the code under test uses only the API
  await expect(checkMesh(away)).rejects.toThrow("rejected")
})
