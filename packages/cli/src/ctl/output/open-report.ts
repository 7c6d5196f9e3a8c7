// SPDX-License-Identifier: Apache-2.0
// An OpenReports report (openreports.io/v1alpha1), which Kubernetes dashboards show. A Report is about one namespace; a
// ClusterReport about everything else.

import { formatObject } from "./objects.js"

const RESULTS = ["pass", "fail", "warn", "error", "skip"] as const

interface ReportResult {
  readonly policy: string
  readonly rule?: string
  readonly category: string
  readonly severity?: "critical" | "high" | "medium" | "low" | "info"
  readonly result: (typeof RESULTS)[number]
  readonly scored: boolean
  readonly message: string
  readonly timestamp: { readonly seconds: number; readonly nanos: 0 }
  readonly resources?: readonly ObjectReference[]
  readonly properties?: Readonly<Record<string, string>>
}

interface ObjectReference {
  readonly apiVersion?: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

export type Found = Omit<ReportResult, "timestamp" | "scored">

/** `now` is in seconds since the epoch. */
export function openReport(
  command: string,
  namespace: string | undefined,
  found: readonly Found[],
  now: number,
): object {
  const counted = RESULTS.map(result => [result, found.filter(one => one.result === result).length])
  const name = `merlon-${command}`
  return {
    apiVersion: "openreports.io/v1alpha1",
    kind: namespace === undefined ? "ClusterReport" : "Report",
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { "app.kubernetes.io/managed-by": "merlonctl" },
    },
    source: "merlon",
    summary: Object.fromEntries(counted),
    results: found.map(one => ({ ...one, scored: one.result !== "warn", timestamp: { seconds: now, nanos: 0 } })),
  }
}

export const formatReports = (reports: readonly object[]): string =>
  reports.map(one => formatObject("yaml", one)).join("---\n")
