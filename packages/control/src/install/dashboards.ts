// SPDX-License-Identifier: Apache-2.0
// Three Grafana dashboards, in a ConfigMap that Grafana's sidecar finds: the control plane, the proxies, and policy
// decisions. A test checks that every metric named here exists.

import { meshNames } from "@merlon/policy/mesh"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { componentNames } from "./component-names.js"
import { type MetricNames, metricNames } from "./metric-names.js"
import type { InstallValues } from "./values.js"

interface Panel {
  readonly title: string
  readonly expression: string
  readonly unit?: string
}

const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}[5m]))`
const p99 = (metric: string): string => `histogram_quantile(0.99, sum by (le) (rate(${metric}_bucket[5m])))`

interface Board {
  readonly title: string
  readonly panels: readonly Panel[]
}

export const dashboards = ({ control, xserver }: MetricNames): Readonly<Record<string, Board>> => ({
  "control-plane": {
    title: "Merlon: control plane",
    panels: [
      { title: "Connected proxies", expression: `sum(${control("connected_proxies")})` },
      { title: "Leader", expression: control("leader") },
      {
        title: "Change to last acknowledgement, p99",
        expression: p99(control("write_to_last_ack_seconds")),
        unit: "s",
      },
      { title: "Overdue acknowledgements", expression: `sum(${control("overdue_acknowledgements")})` },
      { title: "Admission reviews", expression: rate(control("admission_reviews_total"), "kind, outcome") },
      { title: "Updates rejected by proxies", expression: rate(control("rejected_updates_total"), "type") },
      { title: "Age of key sets", expression: `max by (issuer) (${control("key_set_age_seconds")})`, unit: "s" },
      { title: "Failing key sets", expression: `max by (issuer) (${control("key_set_failing")})` },
      {
        title: "Certificates expire in",
        expression: `min by (certificate) (${control("certificate_expiry_seconds")}) - time()`,
        unit: "s",
      },
      { title: "Memory", expression: control("resident_memory_bytes"), unit: "bytes" },
    ],
  },
  proxies: {
    title: "Merlon: proxies",
    panels: [
      { title: "Requests", expression: rate(xserver("requests_total"), "namespace, pod") },
      { title: "Duration, p99", expression: p99(xserver("request_duration_seconds")), unit: "s" },
      { title: "Open connections", expression: `sum by (namespace, pod) (${xserver("connections")})` },
      { title: "Rejected handshakes", expression: rate(xserver("tls_failures_total"), "reason") },
      { title: "Limits hit", expression: rate(xserver("limits_hit_total"), "limit") },
      { title: "Application failures", expression: rate(xserver("upstream_failures_total"), "reason") },
      { title: "Unusable updates", expression: rate(xserver("configuration_rejected_total"), "pod") },
      {
        title: "Certificates expire in",
        expression: `min(${xserver("certificate_expiry_seconds")}) - time()`,
        unit: "s",
      },
      { title: "Memory", expression: xserver("resident_memory_bytes"), unit: "bytes" },
    ],
  },
  decisions: {
    title: "Merlon: policy decisions",
    panels: [
      { title: "Verdicts", expression: rate(xserver("requests_total"), "verdict") },
      {
        title: "Denied by policy",
        expression: rate(`${xserver("requests_total")}{verdict!="allow"}`, "stage, policy"),
      },
      { title: "Callers", expression: rate(xserver("requests_by_source_total"), "source, verdict") },
      { title: "Status codes", expression: rate(xserver("requests_total"), "code") },
      { title: "Plaintext requests by mode", expression: rate(xserver("plaintext_requests_total"), "mode") },
      {
        title: "Shadow policies would decide differently",
        expression: rate(xserver("shadow_differences_total"), "verdict, policy"),
      },
    ],
  },
})

export function dashboardManifest(values: InstallValues, namespace: string): KubernetesObject {
  const { controlPlane } = componentNames(meshNames({ mesh: values.mesh, domain: values.domain }))
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `${controlPlane}-dashboards`, namespace, labels: values.dashboards.labels },
    data: Object.fromEntries(
      Object.entries(dashboards(metricNames(values.mesh))).map(([name, board]) => [
        `merlon-${name}.json`,
        JSON.stringify(grafana(name, board)),
      ]),
    ),
  }
}

function grafana(name: string, { title, panels }: Board) {
  return {
    uid: `merlon-${name}`,
    title,
    tags: ["merlon"],
    schemaVersion: 39,
    time: { from: "now-1h", to: "now" },
    refresh: "30s",
    templating: { list: [{ name: "datasource", type: "datasource", query: "prometheus" }] },
    panels: panels.map(({ title, expression, unit }, at) => ({
      id: at + 1,
      type: "timeseries",
      title,
      datasource: { type: "prometheus", uid: "$datasource" },
      gridPos: { x: (at % 2) * 12, y: Math.floor(at / 2) * 8, w: 12, h: 8 },
      fieldConfig: { defaults: { unit: unit ?? "short" }, overrides: [] },
      targets: [{ refId: "A", expr: expression }],
    })),
  }
}
