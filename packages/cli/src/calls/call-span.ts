// SPDX-License-Identifier: Apache-2.0
// The span of an outbound request, with OpenTelemetry's attribute names for HTTP clients. The span of the server's proxy
// is its child. It contains no query and no header: they carry tokens.

import type { CallRecord } from "@merlon/xclient"
import { HTTP_VERSIONS, type SpanContent } from "@merlon/xserver/observe"

/** `mesh`: the prefix of our own attributes. */
export function callSpan(record: CallRecord, mesh: string): SpanContent {
  const { method, status, failure, durationMs } = record
  // By OpenTelemetry's conventions for clients, a rejected request is an error of the call.
  const failed = failure !== undefined || status >= 400
  return {
    kind: "client",
    name: method,
    durationMs,
    failed,
    attributes: {
      "http.request.method": method,
      "http.response.status_code": status === 0 ? undefined : status,
      "url.path": record.path,
      "server.address": record.host === "" ? record.destination : record.host,
      "network.protocol.name": "http",
      "network.protocol.version": HTTP_VERSIONS[record.protocol],
      "http.request.resend_count": record.retries === 0 ? undefined : record.retries,
      "error.type": failure ?? (failed ? String(status) : undefined),
      [`${mesh}.destination`]: record.destination,
      [`${mesh}.transport`]: record.transport,
      [`${mesh}.decision_id`]: record.decisionId,
      [`${mesh}.request_id`]: record.requestId,
    },
  }
}
