// SPDX-License-Identifier: Apache-2.0
// One line per request, JSON for machines or text for people. Lines are gathered and written together: a write per line
// would cost more than the rest of the request.

import type { LineOutput } from "@merlon/xds/runtime"
import type { RequestRecord } from "./meters.js"
import { detailsOf, reasonOf, shadowOf } from "./reason.js"

export type AccessLogFormat = "json" | "text" | "off"

const FLUSH_BYTES = 64 * 1024
const FLUSH_MS = 100
/** Where nobody takes the lines, losing some is better than holding them all. */
const MAX_PENDING = 4 * 1024 * 1024

export class AccessLog {
  #lines: string[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #dropped = 0
  readonly #render: (record: RequestRecord, time: Date) => string

  constructor(
    format: Exclude<AccessLogFormat, "off">,
    private readonly out: LineOutput,
  ) {
    this.#render = format === "json" ? jsonLine : textLine
  }

  get dropped(): number {
    return this.#dropped
  }

  write(record: RequestRecord): void {
    if (this.out.writableLength > MAX_PENDING) {
      this.#dropped++
      return
    }
    const line = this.#render(record, new Date())
    this.#lines.push(line)
    this.#bytes += line.length
    if (this.#bytes >= FLUSH_BYTES) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref()
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#lines.length === 0) return
    this.out.write(this.#lines.join(""))
    this.#lines = []
    this.#bytes = 0
  }
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
