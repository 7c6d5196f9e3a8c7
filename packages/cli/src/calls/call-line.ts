// SPDX-License-Identifier: Apache-2.0
// An outbound call as a line of the access log, beside the lines of inbound requests. `direction` tells them apart.

import type { CallRecord } from "@merlon/xclient"
import type { AccessLogFormat, LogLine } from "@merlon/xserver/observe"

export function callLine(format: Exclude<AccessLogFormat, "off">): LogLine<CallRecord> {
  return format === "json" ? jsonLine : textLine
}

function jsonLine(record: CallRecord, time: Date): string {
  const { inMesh: _, durationMs, decisionId, workload, ...facts } = record
  return `${JSON.stringify({
    time: time.toISOString(),
    direction: "outbound",
    ...facts,
    workload,
    durationMs: Math.round(durationMs * 1_000) / 1_000,
    decisionId,
    // Tells who assigned the id: it came with the response.
    decidedBy: decisionId === undefined ? undefined : workload,
  })}\n`
}

function textLine(record: CallRecord, time: Date): string {
  const { protocol, method, path, status, durationMs, destination, transport, failure, reason, decisionId } = record
  const what = protocol === "tcp" ? "tcp" : `${method} ${path} ${status}`
  const parts = [
    time.toISOString(),
    failure === undefined ? "out  " : "FAIL ",
    what,
    `${durationMs.toFixed(1)}ms`,
    `to ${destination} (${transport})`,
    failure === undefined ? "" : `(${failure}: ${reason})`,
    decisionId === undefined ? "" : `[${decisionId}]`,
  ]
  return `${parts.filter(part => part !== "").join(" ")}\n`
}
