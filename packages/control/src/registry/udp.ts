// SPDX-License-Identifier: Apache-2.0
// Finds the UDP ports that a workload declares, and whether datagrams reach them. Proxies carry only TCP, so no policy
// covers UDP; rules inside the Pod can block all of it.

import type { MeshNames } from "@merlon/policy/mesh"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { isDeclared, lastingContainers } from "./application-ports.js"
import { readCaptureArgs } from "./capture-args.js"
import { listOf, objectOf, portOf } from "./foreign.js"
import { isCapture } from "./privileges.js"

/** What a mesh does with datagrams that are not replies to a Pod's own. */
export type Udp = "refuse" | "pass"

/** `unrefusable`: no rules in the Pod capture its traffic, so nothing of ours can refuse UDP to it. */
export type UdpHandling = "passed" | "refused" | "unrefusable"

/** UDP ports of the containers that keep running, in ascending order. */
export function udpPorts(podSpec: unknown): readonly number[] {
  const declared = lastingContainers(podSpec).flatMap(({ ports }) => listOf(ports).map(objectOf))
  return ascending(
    declared.flatMap(({ protocol, containerPort }) => (protocol === "UDP" ? [portOf(containerPort)] : [])),
  )
}

/** Derived from the arguments of the capture container: a Pod keeps the rules it got at creation. */
export function udpHandling(pod: KubernetesObject, names: MeshNames): UdpHandling {
  const capture = listOf(objectOf(pod.spec).initContainers)
    .map(objectOf)
    .find(container => isCapture(container, names))
  // No orchestrator runs a declared workload, so no container of it has set up rules.
  if (capture === undefined || isDeclared(pod, names)) return "unrefusable"
  return readCaptureArgs(capture.args)?.["--udp"] === "refuse" ? "refused" : "passed"
}

export function ascending(ports: readonly (number | undefined)[]): readonly number[] {
  return [...new Set(ports.filter(port => port !== undefined))].sort((a, b) => a - b)
}
