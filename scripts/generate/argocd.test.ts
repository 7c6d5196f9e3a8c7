// SPDX-License-Identifier: Apache-2.0
// How Argo CD and Flux evaluate the statuses that the control plane writes: the health script in a Lua interpreter, and
// kstatus by its documented rules (sigs.k8s.io/cli-utils/pkg/kstatus), and by its library if a program has it.

import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { meshConfig, meshNames } from "@merlon/policy/mesh"
import type { Status } from "@merlon/policy/resources"
import { KINDS, validate } from "@merlon/policy/resources"
import fengari from "fengari"
import { expect, it } from "vitest"
import { parse } from "yaml"
import type { ConditionInputs } from "../../packages/control/src/status/condition-inputs.js"
import { statusOf } from "../../packages/control/src/status/conditions.js"
import { ARGOCD_PATCH, argocdPatch, HEALTH_SCRIPT } from "./argocd.js"

const ROOT = fileURLToPath(new URL("../../", import.meta.url))
const SCRIPT = readFileSync(ROOT + HEALTH_SCRIPT, "utf8")
const GENERATION = 7

interface Policy {
  readonly kind: string
  readonly metadata: { readonly generation: number; readonly deletionTimestamp?: string }
  readonly status?: Status
}

function luaLiteral(value: unknown): string {
  if (typeof value === "string")
    return `"${[...Buffer.from(value)].map(byte => `\\${String(byte).padStart(3, "0")}`).join("")}"`
  if (Array.isArray(value)) return `{${value.map(luaLiteral).join(",")}}`
  if (typeof value !== "object" || value === null) return value === undefined ? "nil" : JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([key, item]) => `[${luaLiteral(key)}]=${luaLiteral(item)}`)
    .join(",")}}`
}

function argocdHealth(policy: Policy, script = SCRIPT): string {
  const { lua, lauxlib, lualib, to_luastring } = fengari
  const state = lauxlib.luaL_newstate()
  lualib.luaL_openlibs(state)
  const code = `local obj = ${luaLiteral(policy)}\nlocal function check()\n${script}\nend\nlocal h = check()\nreturn h.status .. ": " .. h.message`
  const failed = lauxlib.luaL_dostring(state, to_luastring(code))
  const result = lua.lua_tojsstring(state, -1)
  if (failed !== 0) throw new Error(result)
  return result
}

function kstatus({ metadata, status }: Policy): "Terminating" | "InProgress" | "Failed" | "Current" {
  if (metadata.deletionTimestamp !== undefined) return "Terminating"
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) return "InProgress"
  const of = (type: string) => status?.conditions?.find(one => one.type === type)?.status
  if (of("Reconciling") === "True") return "InProgress"
  if (of("Stalled") === "True") return "Failed"
  const ready = of("Ready")
  return ready === undefined || ready === "True" ? "Current" : "InProgress"
}

const names = meshNames()
const mesh = meshConfig({ names })
const { document } = validate(
  {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "AuthorizationPolicy",
    metadata: { name: "p", namespace: "foo" },
    spec: { selector: { matchLabels: { app: "web" } }, rules: [{}] },
  },
  names,
)
const TALLY = {
  proxies: 3,
  enforcing: 3,
  authorizers: { all: 0, enforcing: 0 },
  waiting: [],
  disconnected: [],
  rejected: [],
  rejection: undefined,
}
const REACH = {
  workloads: 3,
  unproxied: [],
  outside: [],
  bypassable: [],
  udp: [],
  pending: 0,
  nearest: undefined,
  missing: [],
  targets: { absent: [], blind: [], empty: [], unserved: [] },
}

function policyWith(more: Partial<ConditionInputs>): Policy {
  const status = statusOf({
    document,
    kind: "AuthorizationPolicy",
    namespace: "foo",
    generation: GENERATION,
    errors: [],
    mesh,
    reach: REACH,
    enforcement: TALLY,
    clients: undefined,
    governedByOthers: [],
    guestHosts: [],
    keySets: [],
    inlineKeySets: 0,
    superseded: undefined,
    now: 0,
    previous: undefined,
    ...more,
  })
  return { kind: "AuthorizationPolicy", metadata: { generation: GENERATION }, status }
}

const rejected = { ...TALLY, enforcing: 2, rejected: ["foo/a"], rejection: { proxy: "foo/a", message: "no" } }
const invalid = policyWith({ document: undefined, errors: ["spec.action: unknown"] })

const POLICIES: readonly (readonly [string, Policy, string, string])[] = [
  ["enforced everywhere", policyWith({}), "Healthy", "Current"],
  ["pending", policyWith({ enforcement: { ...TALLY, enforcing: 2, waiting: ["foo/a"] } }), "Progressing", "InProgress"],
  [
    "of workloads that do not exist yet",
    policyWith({ reach: { ...REACH, workloads: 0 } }),
    "Progressing",
    "InProgress",
  ],
  ["without a proxy", policyWith({ reach: { ...REACH, unproxied: ["foo/a"] } }), "Degraded", "InProgress"],
  ["rejected by a proxy", policyWith({ enforcement: rejected }), "Degraded", "Failed"],
  ["invalid", invalid, "Degraded", "Failed"],
  ["valid again", policyWith({ previous: invalid.status ?? {} }), "Healthy", "Current"],
  [
    "of a newer generation",
    { ...policyWith({}), metadata: { generation: GENERATION + 1 } },
    "Progressing",
    "InProgress",
  ],
  ["invalid, and changed since", { ...invalid, metadata: { generation: GENERATION + 1 } }, "Progressing", "InProgress"],
]

it.each(POLICIES)("a policy that is %s: Argo CD %s", (_, policy, argocd, flux) => {
  expect(argocdHealth(policy).split(":")[0]).toBe(argocd)
  expect(kstatus(policy)).toBe(flux)
})

it("kstatus computes the same", { tags: ["needs/kstatus"] }, () => {
  const deleted = { ...policyWith({}), metadata: { generation: GENERATION, deletionTimestamp: "2026-01-01T00:00:00Z" } }
  const objects = [...POLICIES.map(([, policy]) => policy), deleted].map(object => ({ apiVersion: "v1", ...object }))
  const computed = execFileSync("kstatus", { input: JSON.stringify(objects), encoding: "utf8" })
    .trim()
    .split("\n")
  expect(computed).toEqual([...POLICIES.map(([, , , flux]) => flux), "Terminating"])
  expect(objects.map(kstatus)).toEqual(computed)
})

const invariant = (status: Status["conditions"]): Policy => ({
  kind: "PolicyInvariant",
  metadata: { generation: GENERATION },
  status: { observedGeneration: GENERATION, ...(status === undefined ? {} : { conditions: status }) },
})
const holds = (status: "True" | "False" | "Unknown") =>
  invariant([
    { type: "Accepted", status: "True", reason: "Valid", message: "", lastTransitionTime: "" },
    { type: "Holds", status, reason: "Proved", message: 'GET "/" \\ of anybody', lastTransitionTime: "" },
  ])

it.each([
  ["holds", holds("True"), 'Healthy: GET "/" \\ of anybody'],
  ["is broken", holds("False"), 'Degraded: GET "/" \\ of anybody'],
  ["is not decided", holds("Unknown"), 'Progressing: GET "/" \\ of anybody'],
  ["has no condition yet", invariant([]), "Progressing: the control plane has not decided yet"],
  [
    "has no status yet",
    { kind: "PolicyInvariant", metadata: { generation: 1 } },
    "Progressing: the control plane has not seen it yet",
  ],
])("an invariant that %s", (_, policy, health) => {
  expect(argocdHealth(policy)).toBe(health)
})

it("the patch of Argo CD's ConfigMap is up to date (`npm run generate`)", () => {
  const text = readFileSync(ROOT + ARGOCD_PATCH, "utf8")
  expect(text).toBe(argocdPatch(names))
  const scripts = Object.values<string>(parse(text).data)
  expect(scripts).toHaveLength(KINDS.length)
  for (const script of scripts) expect(argocdHealth(policyWith({}), script)).toMatch(/^Healthy/)
})
