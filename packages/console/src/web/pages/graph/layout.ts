// SPDX-License-Identifier: Apache-2.0
// Lays out services along their calls, with one box per namespace. If the result would be too wide to read, each box is laid
// out first, and then the boxes are arranged in rows. The layout reserves space for the labels of edges, so that none covers
// a service.

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

/** Left to right, or top to bottom if there is little width. */
export type Direction = "LR" | "TB"

export const NODE = { width: 140, height: 48 }
/** The width of a letter in the small font of edge labels. */
const LETTER_PX = 6.2
const LABEL_HEIGHT = 20
const GAPS = { LR: { ranksep: 30, nodesep: 30 }, TB: { ranksep: 44, nodesep: 36 } } as const
/** A wider map would be too small to read in a window of ordinary size. */
const MOST_WIDTH = { LR: 1_500, TB: 640 } as const
const ROW_GAP = { x: 72, y: 56 }
const PADDING = { x: 20, top: 34, bottom: 18 }
const MARGIN = 24

interface Sized {
  readonly id: string
  readonly width: number
  readonly height: number
}

interface Line {
  readonly from: string
  readonly to: string
  readonly label: string
}

/** A single node, or a namespace with its services. */
interface Block extends Sized {
  /** Positions relative to the block's top left corner. */
  readonly services: readonly Box[]
}

export function layoutOf(edges: readonly Edge[], direction: Direction, labelOf: (edge: Edge) => string): Layout {
  const ids = [...new Set(edges.flatMap(({ from, to }) => [from, to]))].sort()
  const lines = edges.map(edge => ({ from: edge.from, to: edge.to, label: labelOf(edge) }))
  const services = placesOf(
    ids.map(id => ({ id, ...NODE })),
    lines,
    direction,
    blockOf,
  )
  if (extentOf(services).width > MOST_WIDTH[direction]) return layoutInRows(ids, lines, direction)
  const names = [...new Set(ids.map(blockOf))].filter(name => !ids.includes(name))
  const namespaces = names.map(name =>
    around(
      name,
      services.filter(({ id }) => blockOf(id) === name),
    ),
  )
  return { services, namespaces, ...extentOf([...services, ...namespaces]) }
}

function around(id: string, own: readonly Box[]): Box {
  const [x, y] = [Math.min(...own.map(box => box.x)) - PADDING.x, Math.min(...own.map(box => box.y)) - PADDING.top]
  const { width, height } = extentOf(own)
  return { id, x, y, width: width - x + PADDING.x, height: height - y + PADDING.bottom }
}

function layoutInRows(ids: readonly string[], lines: readonly Line[], direction: Direction): Layout {
  const blocks = [...new Set(ids.map(blockOf))].map(block => {
    const own = ids.filter(id => blockOf(id) === block)
    const inside = lines.filter(({ from, to }) => blockOf(from) === block && blockOf(to) === block)
    return own[0] === block ? alone(block) : together(block, own, inside, direction)
  })
  const between = lines
    .map(({ from, to, label }) => ({ from: blockOf(from), to: blockOf(to), label }))
    .filter(({ from, to }) => from !== to)
  const placed = inRows(placesOf(blocks, between, direction), between, MOST_WIDTH[direction])
  const at = new Map(placed.map(box => [box.id, box]))
  const services = blocks.flatMap(({ id, services: own }) =>
    own.map(box => ({ ...box, x: box.x + (at.get(id)?.x ?? 0), y: box.y + (at.get(id)?.y ?? 0) })),
  )
  const isNamespace = ({ id }: Sized): boolean => !ids.includes(id)
  return { services, namespaces: placed.filter(isNamespace), ...extentOf(placed) }
}

/** The block that a node belongs to. Collapsed namespaces and callers outside the mesh are blocks of one node. */
function blockOf(id: string): string {
  return id.startsWith(COLLAPSED) || namespaceOf(id) === "" ? id : namespaceOf(id)
}

function alone(id: string): Block {
  return { id, ...NODE, services: [{ id, x: 0, y: 0, ...NODE }] }
}

function together(id: string, own: readonly string[], lines: readonly Line[], direction: Direction): Block {
  const nodes = own.map(service => ({ id: service, ...NODE }))
  const found = placesOf(nodes, lines, direction)
  const left = Math.min(...found.map(({ x }) => x))
  const top = Math.min(...found.map(({ y }) => y))
  const services = found.map(box => ({ ...box, x: box.x - left + PADDING.x, y: box.y - top + PADDING.top }))
  const { width, height } = extentOf(services)
  return { id, services, width: width + PADDING.x, height: height + PADDING.bottom }
}

/** Lays out nodes along the lines, and keeps nodes with the same `groupOf` together. */
function placesOf(
  nodes: readonly Sized[],
  lines: readonly Line[],
  direction: Direction,
  groupOf: (id: string) => string = id => id,
): readonly Box[] {
  const graph = new dagre.graphlib.Graph({ compound: true })
  graph.setGraph({ rankdir: direction, ...GAPS[direction], marginx: MARGIN, marginy: MARGIN })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { id, width, height } of nodes) graph.setNode(id, { width, height })
  for (const { id } of nodes) {
    if (groupOf(id) === id) continue
    graph.setNode(`group:${groupOf(id)}`, {})
    graph.setParent(id, `group:${groupOf(id)}`)
  }
  for (const { from, to, label } of lines) {
    const width = label.length * LETTER_PX
    const room = width === 0 ? {} : { width: width + LABEL_HEIGHT, height: LABEL_HEIGHT, labelpos: "c" }
    if (from !== to) graph.setEdge(from, to, room)
  }
  dagre.layout(graph)
  return nodes.map(({ id, width, height }) => {
    const { x, y } = graph.node(id)
    return { id, x: x - width / 2, y: y - height / 2, width, height }
  })
}

/** Returns boxes that fit unchanged. Others are put into rows in their order, with space for labels between neighbours. */
function inRows(boxes: readonly Box[], lines: readonly Line[], most: number): readonly Box[] {
  if (extentOf(boxes).width <= most) return boxes
  const labels = new Map(
    lines.flatMap(({ from, to, label }) => [`${from} ${to}`, `${to} ${from}`].map(key => [key, label])),
  )
  let [x, y, tallest] = [MARGIN, MARGIN, 0]
  let before: Box | undefined
  return [...boxes]
    .sort((a, b) => a.x - b.x || a.y - b.y)
    .map(box => {
      if (before !== undefined) {
        const label = labels.get(`${before.id} ${box.id}`) ?? ""
        x += before.width + Math.max(ROW_GAP.x, label.length * LETTER_PX + ROW_GAP.x / 2)
      }
      before = box
      if (x > MARGIN && x + box.width > most) {
        x = MARGIN
        y += tallest + ROW_GAP.y
        tallest = 0
      }
      tallest = Math.max(tallest, box.height)
      return { ...box, x, y }
    })
}

function extentOf(boxes: readonly Box[]): { readonly width: number; readonly height: number } {
  return {
    width: Math.max(0, ...boxes.map(({ x, width }) => x + width)),
    height: Math.max(0, ...boxes.map(({ y, height }) => y + height)),
  }
}
