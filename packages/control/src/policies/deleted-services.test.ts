// SPDX-License-Identifier: Apache-2.0
import { beforeEach, describe, expect, it } from "vitest"
import { ApiError } from "../kubernetes/client.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { settle as idle, ManualClock } from "../observe/testing/manual-clock.js"
import { podOf, serviceOf } from "../registry/testing/objects.js"
import { policyOf, viewsStage } from "../snapshot/testing/views-stage.js"
import { DeletedServices } from "./deleted-services.js"

const AP = "AuthorizationPolicy"
const web = { app: "web" }
const named = policyOf(AP, "foo/deny", { targetRefs: [{ kind: "Service", name: "web" }], action: "DENY", rules: [{}] })
const NAMESPACE: KubernetesObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: "foo" } }
const GOING = { ...NAMESPACE, metadata: { name: "foo", deletionTimestamp: "2026-01-01T00:00:00Z" } }

function stage() {
  const views = viewsStage()
  const clock = new ManualClock()
  const warnings: string[] = []
  const api: { namespace: KubernetesObject | undefined; away: boolean; asked: number } = {
    namespace: NAMESPACE,
    away: false,
    asked: 0,
  }
  const deletedServices = new DeletedServices({
    policies: views.policies,
    registry: views.registry,
    client: {
      get: <T extends KubernetesObject>() => {
        api.asked++
        if (api.away) return Promise.reject(new ApiError(0, "", "no answer"))
        return Promise.resolve(api.namespace as T | undefined) // the API answers with the requested type
      },
    },
    warn: message => warnings.push(message),
    clock,
  })
  views.registry.setPod(podOf("foo/a", { labels: web }))
  views.registry.setService(serviceOf("foo/web", web, []))
  views.policies.set(AP, named)
  const enforces = async (): Promise<boolean> => {
    await idle()
    views.settle()
    return views.namesOf("foo/a").includes("policy/AuthorizationPolicy/foo/deny")
  }
  const isKnown = (): boolean => views.registry.services.has("web.foo.svc.cluster.local")
  return { ...views, api, clock, warnings, deletedServices, enforces, isKnown }
}

let s: ReturnType<typeof stage>
beforeEach(() => {
  s = stage()
})

describe("a Service that a policy names", () => {
  it("is removed when a user deletes it, and the policy selects no workload", async () => {
    s.deletedServices.deleted("foo", "web")
    expect([await s.enforces(), s.isKnown()]).toEqual([false, false])
  })

  it("stays as long as its workloads when its namespace is deleted", async () => {
    s.api.namespace = GOING
    s.deletedServices.deleted("foo", "web")
    expect([await s.enforces(), s.isKnown()]).toEqual([true, true])
    s.registry.deletePod("foo", "a")
    expect(s.isKnown()).toBe(false)
  })

  it("stays while the reason for its deletion is unknown", async () => {
    s.api.away = true
    s.deletedServices.deleted("foo", "web")
    expect(await s.enforces()).toBe(true)
    expect(s.warnings.join()).toContain("`foo/web`")
    s.api.away = false
    await s.clock.advance(60_000)
    expect(await s.enforces()).toBe(false)
  })

  it("is replaced by one that is stored in the meantime", async () => {
    s.deletedServices.deleted("foo", "web")
    s.deletedServices.stored("foo", "web")
    s.registry.setService(serviceOf("foo/web", web, []))
    expect(await s.enforces()).toBe(true)
  })
})

it("does not look up a Service without policies or workloads", async () => {
  s.registry.setService(serviceOf("foo/other", web, []))
  s.deletedServices.deleted("foo", "other")
  s.registry.deletePod("foo", "a")
  s.deletedServices.deleted("foo", "web")
  await idle()
  expect([s.api.asked, [...s.registry.services.keys()]]).toEqual([0, []])
})
