// SPDX-License-Identifier: Apache-2.0
// Places of services along the calls, left to right, each namespace together in a box of its own.

import dagre from "@dagrejs/dagre"
import { COLLAPSED, type Edge, namespaceOf } from "./edges.js"

export interface Box {
  readonly id: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface Layout {
  readonly services: readonly Box[]
  readonly namespaces: readonly Box[]
  readonly width: number
  readonly height: number
}

export const NODE = { width: 168, height: 48 }
const PADDING = { x: 20, top: 34, bottom: 18 }

export function layoutOf(edges: readonly Edge[]): Layout {
  const graph = new dagre.graphlib.Graph({ compound: true })
  graph.setGraph({ rankdir: "LR", ranksep: 110, nodesep: 26, marginx: 24, marginy: 40 })
  graph.setDefaultEdgeLabel(() => ({}))
  const ids = [...new Set(edges.flatMap(({ from, to }) => [from, to]))].sort()
  const isGrouped = (id: string): boolean => namespaceOf(id) !== "" && !id.startsWith(COLLAPSED)
  for (const id of ids) graph.setNode(id, { ...NODE })
  for (const namespace of new Set(ids.filter(isGrouped).map(namespaceOf))) graph.setNode(boxOf(namespace), {})
  for (const id of ids.filter(isGrouped)) graph.setParent(id, boxOf(namespaceOf(id)))
  for (const { from, to } of edges) if (from !== to) graph.setEdge(from, to)
  dagre.layout(graph)
  const services = ids.map(id => {
    const { x, y } = graph.node(id)
    return { id, x: x - NODE.width / 2, y: y - NODE.height / 2, ...NODE }
  })
  const { width = 0, height = 0 } = graph.graph()
  return { services, namespaces: namespacesAround(services.filter(({ id }) => isGrouped(id))), width, height }
}

const boxOf = (namespace: string): string => `box:${namespace}`

function namespacesAround(services: readonly Box[]): readonly Box[] {
  const names = [...new Set(services.map(({ id }) => namespaceOf(id)))]
  return names.map(id => {
    const own = services.filter(service => namespaceOf(service.id) === id)
    const left = Math.min(...own.map(({ x }) => x)) - PADDING.x
    const top = Math.min(...own.map(({ y }) => y)) - PADDING.top
    const right = Math.max(...own.map(({ x }) => x + NODE.width)) + PADDING.x
    const bottom = Math.max(...own.map(({ y }) => y + NODE.height)) + PADDING.bottom
    return { id, x: left, y: top, width: right - left, height: bottom - top }
  })
}
