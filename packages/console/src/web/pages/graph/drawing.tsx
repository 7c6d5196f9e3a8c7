// SPDX-License-Identifier: Apache-2.0
// The picture: callers on the left, called on the right. Screen readers have the table.

import dagre from "@dagrejs/dagre"
import { Background, MarkerType, Position, ReactFlow } from "@xyflow/react"
import { type ReactNode, useMemo } from "react"
import { useLocation } from "wouter"
import { count } from "../../ui/time.js"
import type { Edge } from "./edges.js"
import "@xyflow/react/dist/style.css"

interface DrawingProps {
  readonly edges: readonly Edge[]
  readonly centre: string | undefined
}

const NODE = { width: 190, height: 40 }

export default function Drawing({ edges, centre }: DrawingProps): ReactNode {
  const [, navigate] = useLocation()
  const { nodes, lines } = useMemo(() => laidOut(edges, centre), [edges, centre])
  return (
    <div className="drawing" aria-hidden="true">
      <ReactFlow
        nodes={nodes}
        edges={lines}
        fitView
        fitViewOptions={{ maxZoom: 1 }}
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
  const graph = new dagre.graphlib.Graph().setGraph({ rankdir: "LR", ranksep: 190, nodesep: 24 })
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
  const lines = edges.map(({ from, to, allowed, refused, isMtls }) => ({
    id: `${from} ${to}`,
    source: from,
    target: to,
    label: labelOf({ allowed, refused, isMtls }),
    className: refused > 0 ? "refused" : isMtls ? "mtls" : "plaintext",
    markerEnd: { type: MarkerType.ArrowClosed },
  }))
  return { nodes, lines }
}

function labelOf({ allowed, refused, isMtls }: Pick<Edge, "allowed" | "refused" | "isMtls">): string {
  const parts = [
    ...(isMtls ? [] : ["plaintext"]),
    ...(allowed > 0 ? [count(allowed)] : []),
    ...(refused > 0 ? [`${count(refused)} refused`] : []),
  ]
  return parts.join(" · ")
}
