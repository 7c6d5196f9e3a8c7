// SPDX-License-Identifier: Apache-2.0
// The drawing of the map. The table below it has the same content for users of screen readers and keyboards.

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
import { type Direction, type Layout, layoutOf } from "./layout.js"
import type { Rate } from "./rates.js"
import { OUTSIDE } from "./services.js"
import "@xyflow/react/dist/style.css"

export interface DrawingProps {
  readonly edges: readonly Edge[]
  readonly rate: (edge: Edge) => Rate | undefined
  readonly centre: string | undefined
  /** The text below the name of a service, as `2 pods · mTLS`. */
  readonly about: (service: string) => string
  /** The number of calls that a node denied. */
  readonly denied: (service: string) => number
  readonly openService: (service: string) => void
  readonly openEdge: (edge: Edge) => void
  /** Collapses or expands a namespace. */
  readonly toggle: (namespace: string) => void
  /** For use inside a card: drawn top to bottom, without buttons. */
  readonly compact?: boolean
}

interface ServiceData extends Record<string, unknown> {
  readonly name: string
  readonly about: string
  readonly denied: number
  readonly direction: Direction
}

const AROUND = 40
const LEAST_HEIGHT = 260
/** The height of the buttons. No service is drawn behind them. */
const ZOOM_HEIGHT = 44
const FIT = { maxZoom: 1.15, padding: { x: 0.04, top: 0.03, bottom: `${ZOOM_HEIGHT}px` } } as const
const COMPACT_FIT = { maxZoom: 1.15, padding: 0.03 }
/** In narrower windows, calls drawn from left to right would be too small to read. */
const NARROW = "(max-width: 1023.98px)"
/** The maximum length of a path on an edge; the side panel shows the whole path. */
const MOST_PATH = 24
const LABEL_PADDING: [number, number] = [7, 3]
const MOST_HEIGHT = 720
/** The height of the card around it (graph.css). */
const COMPACT_HEIGHT = 430

export default function Drawing(props: DrawingProps): ReactNode {
  return (
    <ReactFlowProvider>
      <div className="canvas">
        <Picture {...props} />
        {props.compact !== true && <Zoom />}
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
          onClick={() => void [zoomIn, zoomOut, () => fitView(FIT)][at]?.()}
        >
          <Icon className="icon" aria-hidden={true} />
          <span className="visually-hidden">{label}</span>
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
  const { edges, rate, centre, about, denied, openService, openEdge, toggle, compact = false } = props
  const [narrow] = useState(() => matchMedia(NARROW).matches)
  const direction: Direction = compact || narrow ? "TB" : "LR"
  const brief = direction === "TB"
  const [hovered, setHovered] = useState<string>()
  const shape = edges.map(({ from, to }) => `${from} ${to}`).join("\n")
  // biome-ignore lint/correctness/useExhaustiveDependencies: positions depend on which services call each other, not on the counts
  const layout = useMemo(() => layoutOf(edges, direction, brief ? shortLabel : wideLabel), [shape, direction])
  const near = useMemo(() => {
    if (hovered === undefined) return undefined
    const own = edges.filter(({ from, to }) => from === hovered || to === hovered)
    return new Set([hovered, ...own.flatMap(({ from, to }) => [from, to])])
  }, [edges, hovered])
  const classOf = (id: string): string =>
    [
      "service",
      ...(id === centre ? ["centre"] : []),
      ...(id === OUTSIDE ? ["outside"] : []),
      ...(denied(id) > 0 ? ["denies"] : []),
      ...(near !== undefined && !near.has(id) ? ["dim"] : []),
    ].join(" ")
  const nodes = [
    ...layout.namespaces.map(({ id, x, y, width, height }) => ({
      ...{ id: `box:${id}`, type: "namespace", position: { x, y }, width, height, zIndex: -1 },
      ...{ data: { name: id }, className: "namespace", selectable: false },
    })),
    ...layout.services.map(({ id, x, y, width, height }) => ({
      ...{ id, type: "service", position: { x, y }, width, height, className: classOf(id) },
      data: { name: nameOf(id), about: about(id), denied: denied(id), direction },
    })),
  ]
  const lines = edges.map(edge => ({
    ...lineOf(edge, brief ? shortLabel(edge) : labelOf(edge, rate(edge))),
    ...(near !== undefined && edge.from !== hovered && edge.to !== hovered ? { style: { opacity: 0.15 } } : {}),
  }))
  return (
    <div
      className="drawing"
      aria-hidden="true"
      style={{ height: `${compact ? COMPACT_HEIGHT : Math.min(MOST_HEIGHT, heightOf(layout))}px` }}
    >
      <ReactFlow
        nodes={nodes}
        edges={lines}
        nodeTypes={NODE_TYPES}
        fitView
        fitViewOptions={compact ? COMPACT_FIT : FIT}
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

/** The height on the page: a layout wider than the window is scaled down. */
function heightOf({ width, height }: Layout): number {
  return Math.max(LEAST_HEIGHT, height * Math.min(1, (window.innerWidth - AROUND) / width) + AROUND + ZOOM_HEIGHT)
}

const NODE_TYPES = { service: ServiceNode, namespace: NamespaceNode }

function ServiceNode({ data }: NodeProps & { readonly data: ServiceData }): ReactNode {
  const [start, end] = data.direction === "LR" ? [Position.Left, Position.Right] : [Position.Top, Position.Bottom]
  return (
    <>
      <Handle type="target" position={start} />
      <strong>{data.name}</strong>
      <small>{data.denied > 0 ? `${count(data.denied)} denied` : data.about}</small>
      <Handle type="source" position={end} />
    </>
  )
}

function NamespaceNode({ data }: NodeProps & { readonly data: { readonly name: string } }): ReactNode {
  return <span>{data.name}</span>
}

function nameOf(id: string): string {
  return id.startsWith(COLLAPSED) ? id.slice(COLLAPSED.length) : id.replace(/^[^/]*\//, "")
}

/** The label that the layout reserves space for: rates arrive later and must not move anything. */
function wideLabel(edge: Edge): string {
  return labelOf(edge, undefined) || "000/min"
}

function shortLabel({ denied, isMtls }: Edge): string {
  return [...(denied > 0 ? [`${count(denied)} denied`] : []), ...(isMtls ? [] : ["plaintext"])].join(" · ")
}

function labelOf(edge: Edge, rate: Rate | undefined): string {
  const denied = edge.calls.find(({ verdict }) => verdict !== "allow")
  const perMinute = Math.round((rate?.allowed ?? 0) + (rate?.denied ?? 0))
  return [
    ...(denied?.method === undefined ? [] : [`${denied.method} ${shortPath(denied.path)}`]),
    shortLabel(edge),
    ...(perMinute > 0 && edge.denied === 0 && edge.isMtls ? [`${count(perMinute)}/min`] : []),
  ]
    .filter(part => part !== "")
    .join(" · ")
}

function shortPath(path = "/"): string {
  return path.length > MOST_PATH ? `${path.slice(0, MOST_PATH)}…` : path
}

function lineOf({ from, to, denied, isMtls }: Edge, label: string) {
  const kind = denied > 0 ? "denied" : isMtls ? "mtls" : "plaintext"
  return {
    id: `${from} ${to}`,
    source: from,
    target: to,
    className: isMtls ? kind : `${kind} dashed`,
    label,
    labelBgPadding: LABEL_PADDING,
    labelBgBorderRadius: 9,
    markerEnd: { type: MarkerType.ArrowClosed, color: `var(--${COLOURS[kind]})`, width: 16, height: 16 },
  }
}

const COLOURS = { denied: "deny", mtls: "allow", plaintext: "warn" } as const
