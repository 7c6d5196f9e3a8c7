// SPDX-License-Identifier: Apache-2.0
// What proxies report about calls, and what the control plane asks them, as plain values with their JSON. Both sides
// parse strictly and do not trust each other.

import { type ObservedCall, readCall, writeCall } from "@merlon/policy/ledger"
import {
  choice,
  flag,
  list,
  object,
  openObject,
  optional,
  type Read,
  ShapeError,
  text,
  whole,
} from "@merlon/policy/shape"
import { readJson } from "./malformed-resource.js"

/** One recorded decision, with only the parts of the message that help to find it again. */
export interface ObservedDecision {
  /** RFC 3339. */
  readonly time: string
  /** Only for denials. */
  readonly id?: string | undefined
  readonly verdict: "allow" | "deny"
  readonly stage?: string | undefined
  readonly protocol: string
  readonly port: number
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** 0 if the connection was closed without a response. */
  readonly status: number
  readonly peer?: string | undefined
  readonly source: string
  /** `namespace/name[0]`, if a rule decided. */
  readonly rule?: string | undefined
  readonly reason?: string | undefined
  readonly shadow?: string | undefined
  /** A trace of the evaluator as JSON, for denials by authorization and on request. */
  readonly explanation?: string | undefined
}

/** How a caller's proxy reached a destination. `passthrough`: outside the mesh, unchanged. `none`: not at all. */
export const CALL_TRANSPORTS = ["mtls", "plaintext", "passthrough", "none"] as const
export type CallTransport = (typeof CALL_TRANSPORTS)[number]

/** A destination that the workload called with one transport, as its proxy has counted since it started. */
export interface CalledDestination {
  /** `host:port` of a Service of the mesh, otherwise the address that the application called. */
  readonly destination: string
  readonly inMesh: boolean
  readonly transport: CallTransport
  /** `namespace/name` of the workload that was tried last. */
  readonly workload?: string | undefined
  /** Number of requests, or of connections whose bytes are not parsed. */
  readonly count: number
  /** Number of those without a response or without a connection. */
  readonly failures: number
  /** Status of the last request; absent for connections, and 0 if there was no response. */
  readonly lastStatus?: number | undefined
  /** The last failure: its code, and the reason in words. */
  readonly lastFailure?: string | undefined
  readonly lastReason?: string | undefined
  /** The id of the last denial by the destination. */
  readonly lastDecision?: string | undefined
  /** Milliseconds since the epoch. */
  readonly firstSeen: number
  readonly lastSeen: number
}

export type Observation =
  | {
      readonly kind: "calls"
      /** Identifies this run of the proxy; sequences start again with each run. */
      readonly run: string
      /** Grows by one with each acknowledged batch. A batch that is sent again has the same number. */
      readonly sequence: number
      readonly calls: readonly ObservedCall[]
      /** Number of shapes since the last batch that were dropped to make room. */
      readonly forgotten: number
    }
  | { readonly kind: "decisions"; readonly decisions: readonly ObservedDecision[]; readonly leftOut: number }
  | { readonly kind: "answer"; readonly inquiry: number; readonly decisions: readonly ObservedDecision[] }
  /** Only sent on request: an older control plane ends the stream when it receives an unknown kind. */
  | { readonly kind: "destinations"; readonly inquiry: number; readonly destinations: readonly CalledDestination[] }

export type Inquiry =
  | { readonly kind: "taken"; readonly run: string; readonly sequence: number }
  /** Whether to send decisions as they are made. */
  | { readonly kind: "follow"; readonly on: boolean }
  | { readonly kind: "find"; readonly inquiry: number; readonly id: string }
  /** The last decisions, newest first. */
  | { readonly kind: "recent"; readonly inquiry: number; readonly limit: number }
  /** The destinations that the workload called. An older proxy does not answer. */
  | { readonly kind: "destinations"; readonly inquiry: number }

/** The source of a proxy's observations. */
export interface ObservationSource {
  /**
   * Called when a control plane listens. `send` returns whether more can be sent at once. Returns handlers for its
   * inquiries.
   */
  open(send: (observation: Observation) => boolean): {
    readonly onInquiry: (inquiry: Inquiry) => void
    readonly closed: () => void
  }
}

/** Shapes in one batch. */
export const MAX_CALLS = 500
/** Decisions in one message. */
export const MAX_DECISIONS = 200
/** Destinations in one message, and the limit of what a proxy remembers. */
export const MAX_DESTINATIONS = 200
const MAX_EXPLANATION = 512 * 1024

const run = text(64)
const sequence = whole(0, Number.MAX_SAFE_INTEGER)

const decision: Read<ObservedDecision> = object<ObservedDecision>({
  time: text(40),
  id: optional(text(64)),
  verdict: choice("allow", "deny"),
  stage: optional(text(32)),
  protocol: text(16),
  port: whole(0, 65_535),
  method: text(128),
  path: text(4_096),
  status: whole(0, 999),
  peer: optional(text(2_048)),
  source: text(128),
  rule: optional(text(1_024)),
  reason: optional(text(8_192)),
  shadow: optional(text(2_048)),
  explanation: optional(text(MAX_EXPLANATION)),
})

const count = whole(0, Number.MAX_SAFE_INTEGER)
const time = whole(0, 8.64e15)
const called: Read<CalledDestination> = openObject<CalledDestination>({
  destination: text(300, 1),
  inMesh: flag,
  transport: choice(...CALL_TRANSPORTS),
  workload: optional(text(512)),
  count,
  failures: count,
  lastStatus: optional(whole(0, 999)),
  lastFailure: optional(text(64)),
  lastReason: optional(text(500)),
  lastDecision: optional(text(64)),
  firstSeen: time,
  lastSeen: time,
})

const OBSERVATIONS: { readonly [K in Observation["kind"]]: Read<Extract<Observation, { readonly kind: K }>> } = {
  calls: object({
    kind: choice("calls"),
    run,
    sequence,
    calls: list<ObservedCall>(MAX_CALLS, readCall),
    forgotten: sequence,
  }),
  decisions: object({ kind: choice("decisions"), decisions: list(MAX_DECISIONS, decision), leftOut: sequence }),
  answer: object({ kind: choice("answer"), inquiry: sequence, decisions: list(MAX_DECISIONS, decision) }),
  destinations: object({
    kind: choice("destinations"),
    inquiry: sequence,
    destinations: list(MAX_DESTINATIONS, called),
  }),
}

const INQUIRIES: { readonly [K in Inquiry["kind"]]: Read<Extract<Inquiry, { readonly kind: K }>> } = {
  taken: object({ kind: choice("taken"), run, sequence }),
  follow: object({ kind: choice("follow"), on: flag }),
  find: object({ kind: choice("find"), inquiry: sequence, id: text(64) }),
  recent: object({ kind: choice("recent"), inquiry: sequence, limit: whole(1, MAX_DECISIONS) }),
  destinations: object({ kind: choice("destinations"), inquiry: sequence }),
}

export function writeObservation(observation: Observation): string {
  if (observation.kind !== "calls") return JSON.stringify(observation)
  return JSON.stringify({ ...observation, calls: observation.calls.map(writeCall) })
}

/** Throws `MalformedResource`. */
export function readObservation(json: string): Observation {
  return readJson<Observation>(json, (value, path) => byKind<Observation>(OBSERVATIONS, value, path))
}

export function writeInquiry(inquiry: Inquiry): string {
  return JSON.stringify(inquiry)
}

/** Throws `MalformedResource`. Undefined for an unknown inquiry of a newer control plane, which is ignored. */
export function readInquiry(json: string): Inquiry | undefined {
  return readJson<Inquiry | undefined>(json, (value, path) =>
    kindOf(value) in INQUIRIES ? byKind<Inquiry>(INQUIRIES, value, path) : undefined,
  )
}

function byKind<T>(readers: { readonly [kind: string]: Read<T> }, value: unknown, path: string): T {
  const kind = kindOf(value)
  const read = Object.hasOwn(readers, kind) ? readers[kind] : undefined
  if (read === undefined) throw new ShapeError("value", `unknown kind \`${kind.slice(0, 60)}\``)
  return read(value, path)
}

function kindOf(value: unknown): string {
  const kind = typeof value === "object" && value !== null && "kind" in value ? value.kind : undefined
  return typeof kind === "string" ? kind : ""
}
