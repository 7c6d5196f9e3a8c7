// SPDX-License-Identifier: Apache-2.0
// An inbound request as a line of the access log.

import type { AccessLogFormat, LogLine } from "./access-log.js"
import type { RequestRecord } from "./meters.js"
import { detailsOf, reasonOf, shadowOf } from "./reason.js"

export function requestLine(format: Exclude<AccessLogFormat, "off">): LogLine<RequestRecord> {
  return format === "json" ? jsonLine : textLine
}

function jsonLine(record: RequestRecord, time: Date): string {
  const { judgement, durationMs, ...facts } = record
  return `${JSON.stringify({
    time: time.toISOString(),
    ...facts,
    durationMs: Math.round(durationMs * 1_000) / 1_000,
    verdict: judgement?.verdict ?? "deny",
    stage: judgement?.stage,
    reason: reasonOf(judgement),
    details: detailsOf(judgement),
    audit: auditOf(record),
    shadow: shadowOf(judgement),
  })}\n`
}

function textLine(record: RequestRecord, time: Date): string {
  const { judgement, method, path, status, source, peer, durationMs, decisionId, protocol } = record
  const verdict = (judgement?.verdict ?? "deny") === "allow" ? "allow" : "DENY "
  const what = protocol === "tcp" ? "tcp" : `${method} ${path} ${status}`
  const why = reasonOf(judgement)
  const shadow = shadowOf(judgement)
  const parts = [
    time.toISOString(),
    verdict,
    what,
    `${durationMs.toFixed(1)}ms`,
    peer ?? source,
    why === undefined ? "" : `(${why})`,
    decisionId === undefined ? "" : `[${decisionId}]`,
    shadow === undefined ? "" : `{shadow: ${shadow}}`,
  ]
  return `${parts.filter(part => part !== "").join(" ")}\n`
}

function auditOf({ judgement }: RequestRecord): string | undefined {
  return judgement !== undefined && "decision" in judgement ? judgement.decision.audit?.id : undefined
}
