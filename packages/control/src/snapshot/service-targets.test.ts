// SPDX-License-Identifier: Apache-2.0
import { decodeProxyResource } from "@merlon/xds"
import { describe, expect, it } from "vitest"
import { podOf, serviceOf } from "../registry/testing/objects.js"
import { policyOf, viewsStage } from "./testing/views-stage.js"

const AP = "AuthorizationPolicy"
const ON_WIRE = "policy/AuthorizationPolicy/foo/named"
const named = policyOf(AP, "foo/named", { targetRefs: [{ kind: "Service", name: "web" }] })
const web = { app: "web" }

function stage() {
  const views = viewsStage()
  views.registry.setPod(podOf("foo/a", { labels: web }))
  views.registry.setPod(podOf("foo/b", { labels: { app: "db" } }))
  views.registry.setPod(podOf("bar/a", { labels: web }))
  views.registry.setService(serviceOf("bar/web", web, []))
  const holders = (): string[] => {
    views.settle()
    return ["foo/a", "foo/b", "bar/a"].filter(workload => views.namesOf(workload).includes(ON_WIRE))
  }
  return { ...views, holders }
}

describe("a policy that names a Service is in the views of", () => {
  it("its workloads, whether the policy or the Service was created first", () => {
    const first = stage()
    first.registry.setService(serviceOf("foo/web", web, []))
    first.policies.set(AP, named)
    expect(first.holders()).toEqual(["foo/a"])
    const later = stage()
    later.policies.set(AP, named)
    expect(later.holders()).toEqual([])
    later.registry.setService(serviceOf("foo/web", web, []))
    expect(later.holders()).toEqual(["foo/a"])
  })

  it("the workloads that the Service selects now, and reports the change", () => {
    const { registry, policies, holders, views } = stage()
    const reselected: string[] = []
    views.onSelectionChange(keys => reselected.push(...keys))
    registry.setService(serviceOf("foo/web", web, []))
    policies.set(AP, named)
    expect(holders()).toEqual(["foo/a"])
    reselected.length = 0
    registry.setService(serviceOf("foo/web", { app: "db" }, []))
    expect(holders()).toEqual(["foo/b"])
    expect(new Set(reselected)).toEqual(new Set(["AuthorizationPolicy/foo/named"]))
    registry.setPod(podOf("foo/a", { labels: { app: "db" } }))
    expect(holders()).toEqual(["foo/a", "foo/b"])
    registry.deleteService("foo", "web")
    expect(holders()).toEqual([])
  })

  it("no workload if the Service is deleted or has no selector", () => {
    const { registry, policies, holders } = stage()
    registry.setService(serviceOf("foo/web", undefined, []))
    policies.set(AP, named)
    expect(holders()).toEqual([])
    registry.setService(serviceOf("foo/web", web, []))
    expect(holders()).toEqual(["foo/a"])
    policies.delete(AP, "foo", "named")
    expect(holders()).toEqual([])
  })
})

it("sends a proxy its Services, so that it selects the same policies", () => {
  const { registry, views, settle } = viewsStage()
  registry.setPod(podOf("foo/a", { labels: web }))
  registry.setService(serviceOf("foo/web", web, []))
  registry.setService(serviceOf("foo/all", web, []))
  settle()
  const spec = decodeProxyResource(views.get("foo/a")?.resources.get("workload")?.value ?? new Uint8Array())
  expect(spec).toMatchObject({ workload: { services: ["all", "web"] } })
})
