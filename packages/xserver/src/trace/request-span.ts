// SPDX-License-Identifier: Apache-2.0
// The span of an inbound request, with OpenTelemetry's attribute names for HTTP servers. It contains no query and no
// header: they carry tokens.

import type { RequestRecord } from "../observe/meters.js"
import { policyOf } from "../observe/reason.js"
import type { SpanContent } from "./otlp.js"

export const HTTP_VERSIONS: Readonly<Record<RequestRecord["protocol"], string>> = {
  "http/1.0": "1.0",
  "http/1.1": "1.1",
  h2: "2",
  tcp: "",
}

/** `mesh`: prefix of our own attributes. */
export function requestSpan(record: RequestRecord, mesh: string): SpanContent {
  const { judgement, method, status, upstreamFailure } = record
  const failed = status >= 500 || upstreamFailure !== undefined
  const policy = policyOf(judgement)
  return {
    kind: "server",
    name: method,
    durationMs: record.durationMs,
    failed,
    attributes: {
      "http.request.method": method,
      "http.response.status_code": status === 0 ? undefined : status,
      "url.path": record.path,
      "server.address": record.host === "" ? undefined : record.host,
      "server.port": record.port,
      "client.address": record.source,
      "network.protocol.name": "http",
      "network.protocol.version": HTTP_VERSIONS[record.protocol],
      "error.type": upstreamFailure ?? (failed ? String(status) : undefined),
      [`${mesh}.verdict`]: judgement?.verdict ?? "deny",
      [`${mesh}.stage`]: judgement?.stage,
      [`${mesh}.policy`]: policy && `${policy.namespace}/${policy.name}`,
      [`${mesh}.decision_id`]: record.decisionId,
      [`${mesh}.request_id`]: record.requestId,
      [`${mesh}.peer`]: record.peer,
    },
  }
}
