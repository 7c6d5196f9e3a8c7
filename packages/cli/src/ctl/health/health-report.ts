// SPDX-License-Identifier: Apache-2.0
// The health of a mesh as an OpenReports ClusterReport.

import { type Found, formatReports, openReport } from "../output/open-report.js"
import type { Checked } from "./checked.js"

const VERDICTS = { well: "pass", wrong: "fail", unknown: "error", note: "skip" } as const

export function healthReport(checks: readonly Checked[], now: number): string {
  const results = checks.map(
    ({ what, verdict, detail, next }): Found => ({
      policy: what,
      category: "mesh health",
      result: VERDICTS[verdict],
      message: next === undefined ? detail : `${detail}; ${next}`,
      ...(verdict === "wrong" ? { severity: "high" } : {}),
    }),
  )
  return formatReports([openReport("check", undefined, results, now)])
}
