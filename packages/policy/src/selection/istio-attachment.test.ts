// SPDX-License-Identifier: Apache-2.0
// Which policies Istio attaches to sidecars, gateways and waypoints.

import { describe, expect, test } from "vitest"
import { policy } from "../authorization/testing/requests.js"
import { meshConfig } from "../mesh/config.js"
import { meshNames } from "../mesh/names.js"
import { PeerModes } from "../peer/mode.js"
import { DocumentsByNamespace } from "../proof/selected.js"
import type { TargetRef } from "../resources/common.js"
import type { PolicyDocument } from "../resources/document.js"
import { select } from "./select.js"
import type { IstioGateway, Workload } from "./workload.js"

const names = meshNames({ mesh: "istio", domain: "istio.io" })
const mesh = meshConfig({ names, dialect: "istio" })
const labels = { app: "web" }
const at = (gateway?: IstioGateway, namespace = "foo"): Workload => ({
  ...{ namespace, name: "w", labels, services: ["cart"] },
  ...(gateway && { gateway }),
})
const SIDECAR = at()
const GATEWAY = at({ name: "g", isWaypoint: false })
const PODS = at({ name: "g", isWaypoint: true })
const CART = at({ name: "g", isWaypoint: true, target: { kind: "Service", namespace: "foo", name: "cart" } })
const AFAR = at({ name: "g", isWaypoint: true, target: { kind: "Service", namespace: "shop", name: "cart" } })
const ENTRY = at({ name: "g", isWaypoint: true, target: { kind: "ServiceEntry", namespace: "foo", name: "cart" } })
const ALL = { SIDECAR, GATEWAY, PODS, CART, AFAR, ENTRY }

const to = (kind: string, name: string): TargetRef => ({ kind, name })
const targeting = (namespace: string, ...targetRefs: TargetRef[]) => policy("p", { targetRefs }, namespace)
const ROOT = "istio-system"

describe("a policy applies to", () => {
  test.each<readonly [string, ReturnType<typeof policy>, readonly (keyof typeof ALL)[]]>([
    ["its namespace", policy("p", {}, "foo"), ["SIDECAR", "GATEWAY"]],
    ["the mesh", policy("p", {}, ROOT), ["SIDECAR", "GATEWAY"]],
    ["its namespace by labels", policy("p", { selector: { matchLabels: labels } }, "foo"), ["SIDECAR", "GATEWAY"]],
    ["the mesh by labels", policy("p", { selector: { matchLabels: labels } }, ROOT), ["SIDECAR", "GATEWAY"]],
    ["other labels", policy("p", { selector: { matchLabels: { app: "api" } } }, "foo"), []],
    ["another namespace", policy("p", {}, "shop"), []],
    ["a Gateway", targeting("foo", to("Gateway", "g")), ["GATEWAY", "PODS", "CART", "AFAR", "ENTRY"]],
    ["another Gateway", targeting("foo", to("Gateway", "h")), []],
    ["a Gateway of another namespace", targeting("shop", to("Gateway", "g")), []],
    ["a Gateway from the root namespace", targeting(ROOT, to("Gateway", "g")), []],
    [
      "the class of waypoints",
      targeting(ROOT, to("GatewayClass", "istio-waypoint")),
      ["PODS", "CART", "AFAR", "ENTRY"],
    ],
    ["the class of waypoints, of a namespace", targeting("foo", to("GatewayClass", "istio-waypoint")), []],
    ["the class of gateways", targeting(ROOT, to("GatewayClass", "istio")), []],
    ["a Service", targeting("foo", to("Service", "cart")), ["CART"]],
    ["a Service of another namespace", targeting("shop", to("Service", "cart")), ["AFAR"]],
    ["another Service", targeting("foo", to("Service", "till")), []],
    ["a Service, from the root namespace", targeting(ROOT, to("Service", "cart")), []],
    ["a ServiceEntry", targeting("foo", to("ServiceEntry", "cart")), ["ENTRY"]],
    ["an HTTPRoute", targeting("foo", to("HTTPRoute", "cart")), []],
    ["several targets", targeting("foo", to("Service", "cart"), to("ServiceEntry", "cart")), ["CART", "ENTRY"]],
    ["no target", targeting("foo"), []],
  ])("%s", (_, document, expected) => {
    const found = Object.entries(ALL).filter(
      ([, one]) => select("AuthorizationPolicy", [document], one, mesh).length > 0,
    )
    expect(found.map(([name]) => name)).toEqual(expected)
    // The lookup by namespace finds the same.
    const byNamespace = new DocumentsByNamespace([document], mesh)
    expect(
      Object.entries(ALL).flatMap(([name, one]) => (byNamespace.selected(one).documents.length > 0 ? [name] : [])),
    ).toEqual(expected)
  })
})

test("no PeerAuthentication changes the mode of gateways and waypoints", () => {
  const strict: PolicyDocument = {
    apiVersion: "security.istio.io/v1",
    kind: "PeerAuthentication",
    metadata: { name: "p", namespace: "foo" },
    spec: { mtls: { mode: "PERMISSIVE" } },
  }
  const modeOf = (one: Workload) => new PeerModes([strict], one, mesh).resolve(80).mode
  expect([SIDECAR, GATEWAY, PODS, CART].map(modeOf)).toEqual(["PERMISSIVE", "DISABLE", "STRICT", "STRICT"])
})

test("workloads share an answer only if their proxies accept the same callers", () => {
  const selection = new DocumentsByNamespace([], mesh)
  const keys = [SIDECAR, GATEWAY, PODS, CART].map(one => selection.selected(one).key)
  expect(new Set(keys).size).toBe(3)
})
