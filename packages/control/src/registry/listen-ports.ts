// SPDX-License-Identifier: Apache-2.0
// Ports on which the proxy of a declared workload listens, if not the usual ones: several workloads may share one
// address. Set by an annotation such as `8080:21080,9090:21090`.

import type { MeshNames } from "@merlon/policy/mesh"
import type { ApplicationPort } from "./application-ports.js"
import { portOf } from "./foreign.js"

export function listenAnnotation({ domain }: MeshNames): string {
  return `${domain}/listen-ports`
}

/** Ports by application port; undefined if the text is invalid. */
export function parseListenPorts(text: string): ReadonlyMap<number, number> | undefined {
  const ports = new Map<number, number>()
  for (const pair of text.split(",")) {
    const [, from, to] = /^\s*(\d{1,5}):(\d{1,5})\s*$/.exec(pair) ?? []
    const [port, listen] = [portOf(Number(from)), portOf(Number(to))]
    if (port === undefined || listen === undefined || ports.has(port)) return undefined
    ports.set(port, listen)
  }
  return new Set(ports.values()).size === ports.size ? ports : undefined
}

/** Undefined if two application ports would get the same port. */
export function listeningOn(
  ports: readonly ApplicationPort[],
  others: ReadonlyMap<number, number>,
): readonly ApplicationPort[] | undefined {
  const moved = ports.map(port => ({ ...port, listen: others.get(port.port) ?? port.listen }))
  return new Set(moved.map(({ listen }) => listen)).size === moved.length ? moved : undefined
}
