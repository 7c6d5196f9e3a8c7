// SPDX-License-Identifier: Apache-2.0
// The picture: callers on the left, called on the right. Screen readers have the table.

import dagre from "@dagrejs/dagre"
import { Background, MarkerType, Position, ReactFlow } from "@xyflow/react"
import { type ReactNode, useMemo } from "react"
import { useLocation } from "wouter"
import { count } from "../../ui/time.js"
import type { Edge } from "./edges.js"
import type { Rate } from "./rates.js"
import "@xyflow/react/dist/style.css"

interface DrawingProps {
  readonly edges: readonly Edge[]
  readonly rate: (edge: Edge) => Rate | undefined
  readonly centre: string | undefined
}

const NODE = { width: 190, height: 40 }
/** Above and below what is drawn. */
const AROUND = 120

export default function Drawing({ edges, rate, centre }: DrawingProps): ReactNode {
  const [, navigate] = useLocation()
  const { nodes, height } = useMemo(() => laidOut(edges, centre), [edges, centre])
  const lines = edges.map(edge => lineOf(edge, rate(edge)))
  return (
    <div className="drawing" aria-hidden="true" style={{ height: `${height + AROUND}px` }}>
      <ReactFlow
        nodes={nodes}
        edges={lines}
        fitView
        fitViewOptions={{ maxZoom: 1.2, padding: 0.1 }}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        disableKeyboardA11y
        proOptions={{ hideAttribution: true }}
        onNodeClick={(_, { id }) => id.includes("/") && navigate(`/graph/${id}`)}
      >
        <Background />
      </ReactFlow>
    </div>
  )
}

function laidOut(edges: readonly Edge[], centre: string | undefined) {
  const graph = new dagre.graphlib.Graph().setGraph({ rankdir: "LR", ranksep: 220, nodesep: 32 })
  graph.setDefaultEdgeLabel(() => ({}))
  const names = [...new Set(edges.flatMap(({ from, to }) => [from, to]))]
  for (const name of names) graph.setNode(name, { ...NODE })
  for (const { from, to } of edges) graph.setEdge(from, to)
  dagre.layout(graph)
  const nodes = names.map(id => {
    const { x, y } = graph.node(id)
    return {
      id,
      data: { label: id },
      position: { x: x - NODE.width / 2, y: y - NODE.height / 2 },
      sourcePosition: Position.Right,
      targetPosition: Position.Left,
      className: id === centre ? "centre" : "",
      ...NODE,
    }
  })
  return { nodes, height: graph.graph().height ?? 0 }
}

function lineOf({ from, to, allowed, refused, isMtls }: Edge, rate: Rate | undefined) {
  return {
    id: `${from} ${to}`,
    source: from,
    target: to,
    label: [
      ...(isMtls ? [] : ["plaintext"]),
      ...(allowed > 0 ? [`${count(allowed)} allowed${often(rate?.allowed)}`] : []),
      ...(refused > 0 ? [`${count(refused)} refused${often(rate?.refused)}`] : []),
    ].join(" · "),
    className: refused > 0 ? "refused" : isMtls ? "mtls" : "plaintext",
    markerEnd: { type: MarkerType.ArrowClosed },
  }
}

/** Only where it is called just now. */
function often(rate = 0): string {
  return Math.round(rate) === 0 ? "" : `, ${count(Math.round(rate))}/min`
}
