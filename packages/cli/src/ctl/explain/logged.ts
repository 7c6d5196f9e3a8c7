// SPDX-License-Identifier: Apache-2.0
// Compares an explanation with the proxy's logged result. A log contains neither tokens nor headers, and policies may
// have changed since.

import { readEnvoyLine } from "@merlon/policy/trial"
import { type Fields, fieldsOf, textOf } from "../foreign.js"
import type { Explanation } from "./explanation.js"

/** Undefined if the line agrees with the explanation, or contains no result. */
export function unlikeLog(line: string, { verdict, status, rule }: Explanation): string | undefined {
  const logged = readEnvoyLine(line) ?? ownRecord(line)
  if (logged.verdict !== "allow" && logged.verdict !== "deny") return undefined
  const denied = logged.verdict === "deny"
  // The provider may have given either result.
  if (verdict === "depends") return undefined
  const same = denied === (verdict === "deny") && (!denied || status === undefined || logged.status === status)
  const envoys = "direction" in logged && typeof logged.rule === "string" ? logged.rule : undefined
  const isSameRule = !denied || envoys === undefined || envoys === (rule ?? "none")
  if (same && isSameRule) return undefined
  const by =
    envoys === undefined || isSameRule ? "" : envoys === "none" ? ", as no ALLOW rule matched" : ` by ${envoys}`
  const answered = denied
    ? `denied it${typeof logged.status === "number" ? ` with ${logged.status}` : ""}${by}`
    : "allowed it"
  const id = "decisionId" in logged ? textOf(logged.decisionId) : undefined
  const ask = id === undefined ? "" : `; \`merlonctl explain ${id}\` asks the proxy`
  return `according to the log, the proxy ${answered}: the line holds no token and not all headers (add \`--token\` or \`-H\`), and policies may have changed since${ask}`
}

function ownRecord(line: string): Fields {
  try {
    return fieldsOf(JSON.parse(line))
  } catch {
    return {}
  }
}
