// SPDX-License-Identifier: Apache-2.0
// Finds the application's ports of a Pod, in order, and the port on which xserver listens for each. Injection and the
// registry share this code: if they counted differently, callers would reach the wrong port.

import type { MeshNames } from "@merlon/policy/mesh"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { type Foreign, listOf, objectOf, portOf, textOf } from "./foreign.js"

export const FIRST_LISTEN_PORT = 15_080

export interface ApplicationPort {
  readonly port: number
  readonly name: string | undefined
  readonly listen: number
  /** Protocols besides `websocket` to which connections may be upgraded, if the Pod names some. */
  readonly upgrades?: readonly string[]
}

export function xserverContainer({ mesh }: MeshNames): string {
  return `${mesh}-xserver`
}

/** TCP ports of all containers except xserver's own; of a port that is declared twice, the first declaration counts. */
export function applicationPorts(podSpec: unknown, names: MeshNames): readonly ApplicationPort[] {
  const ports = new Map<number, ApplicationPort>()
  for (const { name, ports: declared } of lastingContainers(podSpec)) {
    if (name === xserverContainer(names)) continue
    for (const entry of listOf(declared)) {
      const { containerPort, protocol, name } = objectOf(entry)
      const port = portOf(containerPort)
      if (port === undefined || ports.has(port)) continue
      if (protocol !== undefined && protocol !== "TCP") continue
      ports.set(port, { port, name: textOf(name), listen: FIRST_LISTEN_PORT + ports.size })
    }
  }
  return [...ports.values()]
}

export function lastingContainers(podSpec: unknown): readonly Foreign[] {
  const { containers, initContainers } = objectOf(podSpec)
  // An init container that keeps running serves like any other.
  const lasting = listOf(initContainers)
    .map(objectOf)
    .filter(({ restartPolicy }) => restartPolicy === "Always")
  return [...listOf(containers).map(objectOf), ...lasting]
}

export function hasXserver(podSpec: unknown, names: MeshNames): boolean {
  const { containers, initContainers } = objectOf(podSpec)
  // If the platform has restartable init containers, xserver may be one of them.
  return [...listOf(containers), ...listOf(initContainers)].some(
    container => objectOf(container).name === xserverContainer(names),
  )
}

/** Whether the Pod is an authorizer for gateways. It must not run another program, which could be reached directly. */
export function isAuthorizer({ metadata, spec }: KubernetesObject, { domain }: MeshNames): boolean {
  return metadata.annotations?.[`${domain}/proxy`] === "authorizer" && lastingContainers(spec).length === 1
}

/** The value for `capture --map`. */
export function captureMap(ports: readonly Pick<ApplicationPort, "port" | "listen">[]): string {
  return ports.map(({ port, listen }) => `${port}:${listen}`).join(",")
}

/**
 * A workload that no orchestrator runs: an administrator declared it, and its proxy's stream shows whether it is
 * running.
 */
export function isDeclared({ metadata }: KubernetesObject, { domain }: MeshNames): boolean {
  return metadata.annotations?.[`${domain}/workload`] === "declared"
}
