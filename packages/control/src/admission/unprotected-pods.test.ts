// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { expect, test } from "vitest"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { podOf } from "../registry/testing/objects.js"
import { unprotectedPods } from "./unprotected-pods.js"

const names = meshNames()
const namespace = (name: string, injection?: string): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels: injection === undefined ? {} : { "merlon-injection": injection } },
})
const NAMESPACES = [namespace("in", "enabled"), namespace("must", "required"), namespace("out")]
const bare = (key: string, labels: { readonly [key: string]: string } = {}) => podOf(key, { proxied: false, labels })
const onNode = (key: string): KubernetesObject => ({ ...bare(key), spec: { hostNetwork: true, containers: [] } })
const inject = (value: string) => ({ "sidecar.merlon.dev/inject": value })
const INJECTED = {
  annotations: { "merlon.dev/injected": "2" },
  spec: { initContainers: [{ name: "merlon-init", args: ["capture", "--map", ""] }] },
}

test.each<[string, KubernetesObject, string | undefined]>([
  ["has a proxy", podOf("in/a", INJECTED), undefined],
  ["has a container that is only named like a proxy", podOf("in/a"), "it was not injected"],
  ["has no proxy in a namespace that wants one", bare("in/a"), "has no xserver, though the namespace `in`"],
  ["has no proxy in a namespace that requires one", bare("must/a"), "has no xserver"],
  ["has no proxy in a namespace that wants none", bare("out/a"), undefined],
  ["has no proxy and requests one itself", bare("out/a", inject("true")), "has no xserver, though the label"],
  ["has no proxy and opts out", bare("in/a", inject("false")), undefined],
  ["is on the node's network", onNode("in/a"), "is on the node's network"],
  ["has completed", podOf("in/a", { proxied: false, status: { phase: "Succeeded" } }), undefined],
  ["is in kube-system", bare("kube-system/a"), undefined],
  [
    "is declared by an administrator",
    podOf("in/a", { proxied: false, annotations: { "merlon.dev/workload": "declared" } }),
    undefined,
  ],
  [
    "has open undeclared ports",
    podOf("in/a", { annotations: { "inbound.merlon.dev/undeclared": "pass" } }),
    "can be reached without its xserver (undeclared ports are reachable without policy checks)",
  ],
])("checks a Pod that %s", (_, pod, problem) => {
  const found = unprotectedPods([pod], NAMESPACES, names)
  expect(found.map(one => one.problem)).toEqual(problem === undefined ? [] : [expect.stringContaining(problem)])
})
