// SPDX-License-Identifier: Apache-2.0
// Checks time limits, retries, limits and ejection beyond their schema: valid durations and existing conditions.

import { parseDuration } from "../../shape/duration.js"
import { nearest } from "../../shape/nearest.js"
import { shown } from "../document-error.js"
import type { Field } from "../field.js"
import { RETRY_CONDITIONS } from "./traffic.js"

const MILLISECOND = 1_000_000n
const HOUR = 3_600_000n * MILLISECOND
const STATUS = /^[1-5]\d\d$/

/** Checks the policy of a document or of one of its destinations. */
export function checkTrafficPolicy(policy: Field): void {
  const pool = policy.field("connectionPool")
  checkDuration(pool.field("tcp").field("connectTimeout"), "1ms")
  checkDuration(pool.field("tcp").field("idleTimeout"), "1ms")
  checkDuration(pool.field("http").field("idleTimeout"), "1ms")
  const outliers = policy.field("outlierDetection")
  checkDuration(outliers.field("interval"), "1ms")
  checkDuration(outliers.field("baseEjectionTime"), "1ms")
}

/** Checks the traffic settings of a document or of one of its rules. */
export function checkRouteTraffic(owner: Field): void {
  checkDuration(owner.field("timeout"), "0s")
  const retries = owner.field("retries")
  checkDuration(retries.field("perTryTimeout"), "1ms")
  checkConditions(retries.field("retryOn"))
}

function checkDuration(field: Field, least: "0s" | "1ms"): void {
  const text = field.text
  if (text === undefined || text === "") return
  const duration = parseDuration(text)
  const fix = `write a duration from ${least} to 1h, for example \`500ms\` or \`5s\``
  if (duration === undefined) field.error("bad-value", `\`${shown(text)}\` is not a valid duration`, fix)
  else if (duration > HOUR || duration < (least === "0s" ? 0n : MILLISECOND))
    field.error("bad-value", `\`${shown(text)}\` is out of range`, fix)
  else if (duration % MILLISECOND !== 0n)
    field.error("bad-value", "only durations to ms precision are supported", "round it to whole milliseconds")
}

function checkConditions(field: Field): void {
  if (field.text === undefined || field.text === "") return
  for (const written of field.text.split(",")) {
    const condition = written.trim()
    if (STATUS.test(condition) || RETRY_CONDITIONS.some(known => known === condition)) continue
    const near = nearest(condition, RETRY_CONDITIONS)
    field.error(
      "unknown-value",
      `\`${shown(condition)}\` is not a retry condition`,
      near === undefined
        ? `use status codes and ${RETRY_CONDITIONS.map(known => `\`${known}\``).join(", ")}`
        : `did you mean \`${near}\`?`,
    )
  }
}
