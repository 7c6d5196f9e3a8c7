// SPDX-License-Identifier: Apache-2.0
// The map as a picture. Screen readers and keyboards have the table below it, which says the same.

import {
  Background,
  Handle,
  MarkerType,
  type NodeProps,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from "@xyflow/react"
import { Maximize, ZoomIn, ZoomOut } from "lucide-react"
import { type ReactNode, useMemo, useState } from "react"
import { count } from "../../ui/time.js"
import { COLLAPSED, type Edge } from "./edges.js"
import { layoutOf } from "./layout.js"
import type { Rate } from "./rates.js"
import { OUTSIDE } from "./services.js"
import "@xyflow/react/dist/style.css"

interface DrawingProps {
  readonly edges: readonly Edge[]
  readonly rate: (edge: Edge) => Rate | undefined
  readonly centre: string | undefined
  /** Below the name of a service, as `2 pods · mTLS`. */
  readonly about: (service: string) => string
  readonly openService: (service: string) => void
  readonly openEdge: (edge: Edge) => void
  /** Collapses a namespace or opens it again. */
  readonly toggle: (namespace: string) => void
}

interface ServiceData extends Record<string, unknown> {
  readonly name: string
  readonly about: string
  readonly denied: number
}

const AROUND = 40
const MOST_HEIGHT = 720

export default function Drawing(props: DrawingProps): ReactNode {
  return (
    <ReactFlowProvider>
      <div className="canvas">
        <Picture {...props} />
        <Zoom />
      </div>
    </ReactFlowProvider>
  )
}

function Zoom(): ReactNode {
  const { zoomIn, zoomOut, fitView } = useReactFlow()
  return (
    <div className="zoom">
      {ZOOMS.map(({ label, Icon }, at) => (
        <button
          key={label}
          type="button"
          title={label}
          onClick={() => void [zoomIn, zoomOut, () => fitView({ padding: 0.06 })][at]?.()}
        >
          <Icon className="icon" aria-hidden={true} />
          <span className="unseen">{label}</span>
        </button>
      ))}
    </div>
  )
}

const ZOOMS = [
  { label: "Zoom in", Icon: ZoomIn },
  { label: "Zoom out", Icon: ZoomOut },
  { label: "Fit the map", Icon: Maximize },
] as const

function Picture(props: DrawingProps): ReactNode {
  const { edges, rate, centre, about, openService, openEdge, toggle } = props
  const [hovered, setHovered] = useState<string>()
  const shape = edges.map(({ from, to }) => `${from} ${to}`).join("\n")
  // biome-ignore lint/correctness/useExhaustiveDependencies: places depend on who calls whom, not on how often
  const layout = useMemo(() => layoutOf(edges), [shape])
  const near = useMemo(() => {
    if (hovered === undefined) return undefined
    const own = edges.filter(({ from, to }) => from === hovered || to === hovered)
    return new Set([hovered, ...own.flatMap(({ from, to }) => [from, to])])
  }, [edges, hovered])
  const deniedAt = (id: string): number => edges.reduce((sum, { to, refused }) => sum + (to === id ? refused : 0), 0)
  const classOf = (id: string): string =>
    [
      "service",
      ...(id === centre ? ["centre"] : []),
      ...(id === OUTSIDE ? ["outside"] : []),
      ...(deniedAt(id) > 0 ? ["denies"] : []),
      ...(near !== undefined && !near.has(id) ? ["dim"] : []),
    ].join(" ")
  const nodes = [
    ...layout.namespaces.map(({ id, x, y, width, height }) => ({
      ...{ id: `box:${id}`, type: "namespace", position: { x, y }, width, height, zIndex: -1 },
      ...{ data: { name: id }, className: "namespace", selectable: false },
    })),
    ...layout.services.map(({ id, x, y, width, height }) => ({
      ...{ id, type: "service", position: { x, y }, width, height, className: classOf(id) },
      data: { name: nameOf(id), about: about(id), denied: deniedAt(id) },
      sourcePosition: Position.Right,
      targetPosition: Position.Left,
    })),
  ]
  const lines = edges.map(edge => ({
    ...lineOf(edge, rate(edge)),
    ...(near !== undefined && edge.from !== hovered && edge.to !== hovered ? { style: { opacity: 0.15 } } : {}),
  }))
  return (
    <div
      className="drawing"
      aria-hidden="true"
      style={{ height: `${Math.min(MOST_HEIGHT, Math.max(260, layout.height + AROUND))}px` }}
    >
      <ReactFlow
        nodes={nodes}
        edges={lines}
        nodeTypes={NODE_TYPES}
        fitView
        fitViewOptions={{ maxZoom: 1.15, padding: 0.06 }}
        minZoom={0.1}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        disableKeyboardA11y
        preventScrolling={false}
        zoomOnScroll={false}
        onlyRenderVisibleElements
        proOptions={{ hideAttribution: true }}
        onNodeMouseEnter={(_, { id, type }) => type === "service" && setHovered(id)}
        onNodeMouseLeave={() => setHovered(undefined)}
        onNodeClick={(_, { id, type }) => {
          if (type === "namespace") toggle(id.replace(/^box:/, ""))
          else if (id.startsWith(COLLAPSED)) toggle(id.slice(COLLAPSED.length))
          else if (id !== OUTSIDE) openService(id)
        }}
        onEdgeClick={(_, { id }) => {
          const edge = edges.find(one => `${one.from} ${one.to}` === id)
          if (edge !== undefined) openEdge(edge)
        }}
      >
        <Background />
      </ReactFlow>
    </div>
  )
}

const NODE_TYPES = { service: ServiceNode, namespace: NamespaceNode }

function ServiceNode({ data }: NodeProps & { readonly data: ServiceData }): ReactNode {
  return (
    <>
      <Handle type="target" position={Position.Left} />
      <strong>{data.name}</strong>
      <small>{data.denied > 0 ? `${count(data.denied)} denied` : data.about}</small>
      <Handle type="source" position={Position.Right} />
    </>
  )
}

function NamespaceNode({ data }: NodeProps & { readonly data: { readonly name: string } }): ReactNode {
  return <span>{data.name}</span>
}

function nameOf(id: string): string {
  return id.startsWith(COLLAPSED) ? id.slice(COLLAPSED.length) : id.replace(/^[^/]*\//, "")
}

function lineOf({ from, to, refused, isMtls, calls }: Edge, rate: Rate | undefined) {
  const denied = calls.find(({ verdict }) => verdict !== "allow")
  const perMinute = Math.round((rate?.allowed ?? 0) + (rate?.refused ?? 0))
  const kind = refused > 0 ? "refused" : isMtls ? "mtls" : "plaintext"
  return {
    id: `${from} ${to}`,
    source: from,
    target: to,
    className: isMtls ? kind : `${kind} dashed`,
    label: [
      ...(denied?.method === undefined ? [] : [`${denied.method} ${denied.path ?? "/"}`]),
      ...(refused > 0 ? [`${count(refused)} denied`] : []),
      ...(isMtls ? [] : ["plaintext"]),
      ...(perMinute > 0 ? [`${count(perMinute)}/min`] : []),
    ].join(" · "),
    markerEnd: { type: MarkerType.ArrowClosed, color: `var(--${COLOURS[kind]})`, width: 16, height: 16 },
  }
}

const COLOURS = { refused: "deny", mtls: "allow", plaintext: "warn" } as const
