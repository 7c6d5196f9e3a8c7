// SPDX-License-Identifier: Apache-2.0
// The caller's trace context (W3C Trace Context). A malformed header is ignored: the trace then begins here, and the
// malformed value is not forwarded.

export interface TraceParent {
  /** 32 lower-case hex digits, not all zero. */
  readonly traceId: string
  /** 16 lower-case hex digits, not all zero: the span of the caller. */
  readonly spanId: string
  readonly sampled: boolean
}

const TRACE_PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/
const SAMPLED = 0x01

/** Undefined if there is none, more than one, or one that cannot be read. */
export function readTraceParent(lines: readonly string[] | undefined): TraceParent | undefined {
  const [line, second] = lines ?? []
  if (line === undefined || second !== undefined) return undefined
  const [, version, traceId = "", spanId = "", flags = "", rest] = TRACE_PARENT.exec(line.trim()) ?? []
  // Section 3.2.2.1: `ff` is not a version, and version 00 has nothing after its flags; later versions may.
  if (version === undefined || version === "ff" || (version === "00" && rest !== undefined)) return undefined
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 }
}

export function writeTraceParent({ traceId, spanId, sampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`
}

const MEMBERS = 32
const STATE_LENGTH = 512
/**
 * Section 3.3.1.3: a key, possibly with a tenant, and up to 256 printable characters without `,` and `=`, of which the
 * last is no blank.
 */
const MEMBER =
  /^([a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=([\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e])$/

/** The state of other tracing systems, in one line. Undefined if there is none, or part of it cannot be read. */
export function readTraceState(lines: readonly string[] | undefined): string | undefined {
  if (lines === undefined || lines.length === 0) return undefined
  // A line that is longer than what must be propagated is not parsed.
  if (lines.reduce((length, line) => length + line.length + 1, 0) > STATE_LENGTH) return undefined
  const members = lines
    .flatMap(line => line.split(","))
    .map(member => member.replace(/^[ \t]+|[ \t]+$/g, ""))
    .filter(member => member !== "")
  if (members.length === 0 || members.length > MEMBERS) return undefined
  const keys = new Set<string>()
  for (const member of members) {
    const key = MEMBER.exec(member)?.[1]
    if (key === undefined || keys.has(key)) return undefined
    keys.add(key)
  }
  return members.join(",")
}
