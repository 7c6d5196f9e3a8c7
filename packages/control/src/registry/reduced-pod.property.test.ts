// SPDX-License-Identifier: Apache-2.0

import { meshNames } from "@merlon/policy/mesh"
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { unprotectedPods } from "../admission/unprotected-pods.js"
import { presencePatch, readyReporterOf } from "../distribution/pod-presence.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { applicationPorts } from "./application-ports.js"
import { capturedConditionOf, isCapturedByService } from "./captured.js"
import { addressesOf, isReady, readPod, readySince } from "./pod-reading.js"
import { reducedPod } from "./reduced-pod.js"
import { podOf } from "./testing/objects.js"

const names = meshNames()
const { domain } = names

/** Values of the wrong type that a client may write. */
const odd = fc.constantFrom<unknown>(null, 7, "text", [], {}, [null], ["text"], { name: 1 })
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 8, arbitrary: value },
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: odd },
  )
const port = fc.record({
  containerPort: optional(fc.constantFrom(80, 8080, 15_080)),
  protocol: optional(fc.constantFrom("TCP", "UDP")),
  name: optional(fc.constantFrom("http", "grpc-x", "")),
})
const rights = fc.record({
  privileged: optional(fc.boolean()),
  runAsUser: optional(fc.constantFrom(0, 1337)),
  capabilities: optional(fc.record({ add: optional(fc.constantFrom(["NET_ADMIN"], ["CHOWN"])) })),
})
const container = fc.record({
  name: optional(fc.constantFrom("app", "merlon-xserver", "merlon-init")),
  image: optional(fc.constant("image:1")),
  ports: optional(fc.array(optional(port), { maxLength: 3 })),
  restartPolicy: optional(fc.constant("Always")),
  env: optional(fc.constant([{ name: "LARGE", value: "x" }])),
  args: optional(fc.constantFrom(["capture", "--map", "80:15080"], ["capture", "--map", ""], ["serve"])),
  command: optional(fc.constantFrom(undefined, ["sh"])),
  securityContext: optional(rights),
})
const containers = optional(fc.array(optional(container), { maxLength: 3 }))
const condition = fc.record({
  type: optional(fc.constantFrom("Ready", "PodScheduled", `${domain}/Captured`)),
  status: optional(fc.constantFrom("True", "False")),
  reason: optional(fc.constant("Open")),
  message: optional(fc.constant("its proxy enforces and is connected to here")),
  lastTransitionTime: optional(fc.constant("2026-11-17T00:00:00Z")),
})
const pods = fc
  .record({
    labels: fc.dictionary(
      fc.constantFrom("app", names.injectLabel, `${domain}/capture`, "pod-template-hash"),
      fc.constantFrom("true", "service", "abc"),
    ),
    annotations: fc.dictionary(
      fc.constantFrom(
        `${domain}/workload`,
        `${domain}/proxy`,
        `${domain}/injected`,
        `${domain}/probes`,
        `inbound.${domain}/undeclared`,
        "kubectl.kubernetes.io/last-applied-configuration",
      ),
      fc.constantFrom("declared", "xserver", "pass", "{}"),
    ),
    spec: optional(
      fc.record({
        serviceAccountName: optional(fc.constant("web")),
        hostNetwork: optional(fc.boolean()),
        containers,
        initContainers: containers,
        ephemeralContainers: containers,
        securityContext: optional(rights),
        volumes: optional(fc.constant([{ name: "data" }])),
      }),
    ),
    status: optional(
      fc.record({
        phase: optional(fc.constantFrom("Running", "Pending", "Failed")),
        conditions: optional(fc.array(optional(condition), { maxLength: 3 })),
        podIP: optional(fc.constantFrom("10.0.0.1", "none")),
        podIPs: optional(fc.constant([{ ip: "10.0.0.2" }])),
        startTime: optional(fc.constant("2026-11-16T00:00:00Z")),
        containerStatuses: optional(fc.constant([{ name: "app", ready: true }])),
      }),
    ),
  })
  .map(({ labels, annotations, spec, status }): KubernetesObject => {
    const { apiVersion, kind, metadata } = podOf("foo/a", { labels, annotations })
    return { apiVersion, kind, metadata, spec, status }
  })

/** All readings of a copied Pod. */
function readings(pod: KubernetesObject): readonly unknown[] {
  const result: unknown[] = []
  const patch = (ready: boolean): unknown =>
    presencePatch(pod, { ready, address: "10.0.0.1", replica: "here" }, Date.parse("2026-11-17T12:00:00Z"))
  const facts = readPod(pod, names, (key, message) => result.push([key, message]))
  return [
    result,
    facts,
    [isReady(pod), readySince(pod), addressesOf(pod), applicationPorts(pod.spec, names)],
    [capturedConditionOf(pod, names), isCapturedByService(pod, names)],
    [readyReporterOf(pod), patch(true), patch(false)],
    unprotectedPods([pod], [{ apiVersion: "v1", kind: "Namespace", metadata: { name: "foo" } }], names),
  ]
}

describe("the kept part of a Pod", () => {
  it("reads like the whole Pod, whatever it contains", () => {
    const same = fc.property(pods, pod => {
      expect(readings(reducedPod(pod))).toEqual(readings(pod))
    })
    fc.assert(same, { numRuns: 500 * inject("effort") })
  })

  it("includes neither container settings nor the last applied document", () => {
    const large = "x".repeat(10_000)
    const container = { name: "app", image: "image:1", env: [{ name: "A", value: large }], command: [large] }
    const pod = {
      ...podOf("foo/a", { annotations: { "kubectl.kubernetes.io/last-applied-configuration": large } }),
      spec: { containers: [container], initContainers: [container], volumes: [{ name: large }] },
      status: { phase: "Running", containerStatuses: [{ name: large }] },
    }
    expect(JSON.stringify(reducedPod(pod)).length).toBeLessThan(500)
  })
})
