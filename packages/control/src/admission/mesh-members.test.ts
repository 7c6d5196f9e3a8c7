// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { expect, it } from "vitest"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { ManualReflected } from "../registry/testing/objects.js"
import { meshMembers } from "./mesh-members.js"

const names = meshNames()
const namespace = (name: string, labels: { readonly [key: string]: string } = {}): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels },
})
const members = meshMembers(
  new ManualReflected([
    namespace("in", { "merlon-injection": "enabled" }),
    namespace("must", { "merlon-injection": "required" }),
    namespace("out"),
    namespace("merlon-system", { "merlon-injection": "enabled" }),
  ]),
  names,
)
const inject = (value: string) => ({ "sidecar.merlon.dev/inject": value })

it.each([
  ["one with a proxy", { namespace: "out", labels: {}, proxied: true }, true],
  ["one in a namespace that opted in", { namespace: "in", labels: {}, proxied: false }, true],
  ["one in a namespace that requires injection", { namespace: "must", labels: {}, proxied: false }, true],
  ["one in another namespace", { namespace: "out", labels: {}, proxied: false }, false],
  ["one that opted in itself", { namespace: "out", labels: inject("true"), proxied: false }, true],
  ["one that opted out", { namespace: "in", labels: inject("false"), proxied: false }, false],
  ["one of the control plane", { namespace: "merlon-system", labels: {}, proxied: false }, false],
  ["one of the cluster", { namespace: "kube-system", labels: {}, proxied: false }, false],
  ["one in a namespace that is not known yet", { namespace: "new", labels: {}, proxied: false }, true],
])("decides about membership of %s", (_, workload, expected) => {
  expect(members.isMember(workload)).toBe(expected)
})
