// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { policy } from "../authorization/testing/requests.js"
import { meshConfig } from "../mesh/config.js"
import type { WorkloadSelector } from "../resources/common.js"
import type { AuthorizationPolicy, PolicyDocument } from "../resources/document.js"
import { select } from "./select.js"
import { isShadow } from "./shadow.js"
import type { Workload } from "./workload.js"

const mesh = meshConfig()
const workload = { namespace: "foo", name: "web-1", labels: { app: "web", version: "v1" } }
const named = (documents: readonly PolicyDocument[], of: Workload = workload) =>
  select("AuthorizationPolicy", documents, of, mesh).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)

const selecting = (selector: WorkloadSelector | undefined, namespace = "foo") =>
  policy("p", selector === undefined ? {} : { selector }, namespace)

describe("a policy applies to a workload", () => {
  test.each<[string, AuthorizationPolicy, boolean]>([
    ["of its namespace", selecting(undefined), true],
    ["of its namespace, by an empty selector", selecting({}), true],
    ["of its namespace, by no labels", selecting({ matchLabels: {} }), true],
    ["that has the label", selecting({ matchLabels: { app: "web" } }), true],
    ["that has all the labels", selecting({ matchLabels: { app: "web", version: "v1" } }), true],
    ["that lacks one of the labels", selecting({ matchLabels: { app: "web", tier: "gold" } }), false],
    ["that has another value", selecting({ matchLabels: { app: "Web" } }), false],
    ["that has no label of that name but a property", selecting({ matchLabels: { toString: "web" } }), false],
    ["of another namespace", selecting(undefined, "bar"), false],
    ["of another namespace, by labels", selecting({ matchLabels: { app: "web" } }, "bar"), false],
    ["of the mesh", selecting(undefined, "merlon-system"), true],
    ["of the mesh, by labels", selecting({ matchLabels: { app: "web" } }, "merlon-system"), true],
    ["of the mesh, by labels it lacks", selecting({ matchLabels: { app: "api" } }, "merlon-system"), false],
  ])("%s", (_, document, expected) => {
    expect(named([document])).toEqual(expected ? [`${document.metadata.namespace}/p`] : [])
  })

  it("once, where its namespace is the root namespace", () => {
    const inRoot = { ...workload, namespace: "merlon-system" }
    expect(named([selecting(undefined, "merlon-system"), selecting(undefined)], inRoot)).toEqual(["merlon-system/p"])
  })

  it("by its kind alone", () => {
    expect(select("RequestAuthentication", [selecting(undefined)], workload, mesh)).toEqual([])
  })
})

describe("a policy that names Services applies to a workload", () => {
  const naming = (names: readonly string[], namespace = "foo") =>
    policy("p", { targetRefs: names.map(name => ({ kind: "Service", name })) }, namespace)
  const behind = { ...workload, services: ["web", "all"] }
  test.each<[string, AuthorizationPolicy, typeof workload, boolean]>([
    ["behind the one it names", naming(["web"]), behind, true],
    ["behind one of those it names", naming(["api", "all"]), behind, true],
    ["behind another", naming(["api"]), behind, false],
    ["of which no Service is known", naming(["web"]), workload, false],
    ["behind one of that name in another namespace", naming(["web"], "bar"), behind, false],
    ["behind one of that name, for the mesh", naming(["web"], "merlon-system"), behind, false],
    ["of the root namespace", naming(["web"], "merlon-system"), { ...behind, namespace: "merlon-system" }, true],
  ])("%s", (_, document, of, expected) => {
    expect(named([document], of)).toHaveLength(expected ? 1 : 0)
  })
})

it("never applies to a sidecar of Istio if it has targets", () => {
  const targeting = policy("p", { targetRefs: [{ kind: "Service", name: "web" }] })
  const behind = { ...workload, services: ["web"] }
  const applied = (config: typeof mesh) => select("AuthorizationPolicy", [targeting], behind, config)
  expect([applied(mesh), applied({ ...mesh, dialect: "istio" })]).toEqual([[targeting], []])
})

describe("a policy that targets a Gateway or a route applies to a workload", () => {
  const targeting = (kind: string, name: string, namespace = "foo") =>
    policy("p", { targetRefs: [{ group: "gateway.networking.k8s.io", kind, name }] }, namespace)
  const labelled = (labels: Readonly<Record<string, string>>, services: readonly string[] = []) => ({
    ...{ ...workload, labels, services },
  })
  const authorizer = labelled({ "merlon.dev/gateway": "public", "merlon.dev/http-route": "shop" })
  test.each<[string, AuthorizationPolicy, Workload, boolean]>([
    ["that decides for the Gateway", targeting("Gateway", "public"), authorizer, true],
    ["that decides for the HTTPRoute", targeting("HTTPRoute", "shop"), authorizer, true],
    ["that decides for a GRPCRoute", targeting("GRPCRoute", "a"), labelled({ "merlon.dev/grpc-route": "a" }), true],
    ["that decides for another", targeting("Gateway", "private"), authorizer, false],
    ["that decides for a route of that name", targeting("Gateway", "shop"), authorizer, false],
    ["of another namespace", targeting("Gateway", "public", "bar"), authorizer, false],
    ["behind a Service of that name", targeting("Gateway", "web"), labelled({}, ["web"]), false],
    ["without such a label", targeting("Gateway", "public"), workload, false],
  ])("%s", (_, document, of, expected) => {
    expect(named([document], of)).toHaveLength(expected ? 1 : 0)
  })
})

it("sorts by age, then name, then namespace, with undated policies as the newest", () => {
  const aged = (name: string, creationTimestamp: string | undefined, namespace = "foo"): AuthorizationPolicy => {
    const document = policy(name, {}, namespace)
    const { creationTimestamp: _, ...metadata } = document.metadata
    return { ...document, metadata: creationTimestamp === undefined ? metadata : { ...metadata, creationTimestamp } }
  }
  const [early, late] = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"]
  const documents = [
    aged("unborn", undefined),
    aged("broken", "yesterday"),
    aged("b", late),
    aged("a", late, "merlon-system"),
    aged("a", late),
    aged("z", early),
    aged("elsewhere", "2026-01-01T02:00:00+03:00"),
  ]
  const expected = ["foo/elsewhere", "foo/z", "foo/a", "merlon-system/a", "foo/b", "foo/broken", "foo/unborn"]
  expect(named(documents)).toEqual(expected)
  expect(named(documents.toReversed())).toEqual(expected)
})

describe("a shadow policy", () => {
  const annotated = (value: string, kind: PolicyDocument["kind"] = "AuthorizationPolicy") => {
    const { metadata, spec } = policy("p", {})
    const annotations = { "merlon.dev/dry-run": value, "istio.io/dry-run": "true" }
    return isShadow({ kind, metadata: { ...metadata, annotations }, spec }, mesh)
  }
  test.each(["1", "t", "T", "TRUE", "true", "True"])("by the annotation `%s`", value => {
    expect(annotated(value)).toBe(true)
  })
  test.each(["0", "f", "F", "FALSE", "false", "False", "", "yes"])("and not by the annotation `%s`", value => {
    expect(annotated(value)).toBe(false)
  })

  it("by annotation only if the kind supports it", () => {
    expect(annotated("true", "PeerAuthentication")).toBe(false)
  })

  it("by its enforcement, whatever the annotation says", () => {
    const document = policy("p", { enforcement: "Shadow" })
    const metadata = { ...document.metadata, annotations: { "merlon.dev/dry-run": "false" } }
    expect(isShadow({ ...document, metadata }, mesh)).toBe(true)
  })
})
