// SPDX-License-Identifier: Apache-2.0
// Alerting rules for the Prometheus operator; docs/operations/alerts.md describes what to do for each. A test checks
// that every metric named here exists and that every alert is on that page.

import { meshNames } from "@merlon/policy/mesh"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { componentNames } from "./component-names.js"
import { type MetricNames, metricNames } from "./metric-names.js"
import type { InstallValues } from "./values.js"

export interface Alert {
  readonly name: string
  /** `critical`: calls are, or soon will be, wrongly denied or allowed. `warning`: fix it by the end of the day. */
  readonly severity: "critical" | "warning"
  readonly expression: string
  readonly for: string
  readonly summary: string
}

const DAY = 86_400

export const alerts = ({ control, xserver }: MetricNames): readonly Alert[] => [
  {
    name: "MerlonControlPlaneDown",
    severity: "critical",
    expression: `absent(${control("leader")})`,
    for: "5m",
    summary: "no control plane is up: proxies enforce their last policies and receive no changes",
  },
  {
    name: "MerlonNoLeader",
    severity: "critical",
    expression: `sum(${control("leader")}) < 1`,
    for: "5m",
    summary: "no replica is leader: statuses are not written and roots are not rotated",
  },
  {
    name: "MerlonPolicyNotEnforced",
    severity: "critical",
    expression: `sum(${control("overdue_acknowledgements")}) > 0`,
    for: "5m",
    summary: "a connected proxy has not acknowledged a change: it enforces an old policy",
  },
  {
    name: "MerlonUpdateRejected",
    severity: "critical",
    expression: `sum by (type) (increase(${control("rejected_updates_total")}[10m])) > 0`,
    for: "1m",
    summary: "a proxy rejects updates and keeps the last good one",
  },
  {
    name: "MerlonPolicyUnreadable",
    severity: "critical",
    expression: `max by (instead) (${control("policies_unreadable")}) > 0`,
    for: "1m",
    summary: "a stored policy cannot be read: its last valid version is enforced, or its strictest reading",
  },
  {
    name: "MerlonWatchSilent",
    severity: "critical",
    expression: `min by (kind) (${control("reflector_synced")}) < 1 or max by (kind) (${control("reflector_silent_seconds")}) > 600`,
    for: "5m",
    summary: "a control plane cannot watch the cluster: changes of this kind reach no proxy",
  },
  {
    name: "MerlonKeySetFailing",
    severity: "warning",
    expression: `max by (issuer) (${control("key_set_failing")}) > 0`,
    for: "15m",
    summary: "the keys of an issuer cannot be fetched: the last keys stay in use, and new keys are unknown",
  },
  {
    name: "MerlonRootEnds",
    severity: "critical",
    expression: `min by (certificate) (${control("certificate_expiry_seconds")}{certificate=~"root|signer"}) - time() < ${7 * DAY}`,
    for: "1h",
    summary:
      "the root CA of the mesh, or a signing certificate, expires within a week: after that, peers no longer trust each other",
  },
  {
    name: "MerlonServingCertificateEnds",
    severity: "critical",
    expression: `min by (listener) (${control("certificate_expiry_seconds")}{certificate="serving"}) - time() < 3600`,
    for: "10m",
    summary:
      "a listener's certificate expires within the hour and was not renewed: proxies and the API server will not be able to connect",
  },
  {
    name: "MerlonWorkloadCertificateEnds",
    severity: "critical",
    expression: `min by (namespace, pod) (${xserver("certificate_expiry_seconds")}) - time() < 3600`,
    for: "10m",
    summary: "a workload's certificate expires within the hour and was not renewed: its mTLS calls will fail",
  },
  {
    name: "MerlonRevocationUnreadable",
    severity: "critical",
    expression: `max(${control("revocations_unreadable")}) > 0`,
    for: "1m",
    summary: "an entry of the revocation list cannot be read: it revokes nothing",
  },
  {
    name: "MerlonAuthorityChangeRejected",
    severity: "warning",
    expression: `sum(increase(${control("authority_rejected_changes_total")}[1h])) > 0`,
    for: "5m",
    summary: "the Secret of the CA was changed to something unusable",
  },
  {
    name: "MerlonApplicationFails",
    severity: "warning",
    expression: `sum by (namespace, pod, reason) (rate(${xserver("upstream_failures_total")}[5m])) > 1`,
    for: "10m",
    summary: "the application behind a proxy does not answer: its callers get 503",
  },
  {
    name: "MerlonLimitHit",
    severity: "warning",
    expression: `sum by (namespace, pod, limit) (increase(${xserver("limits_hit_total")}[10m])) > 100`,
    for: "10m",
    summary: "a proxy rejects callers because a limit is reached: an attack, or a limit that is too low",
  },
  {
    name: "MerlonDenialsRise",
    severity: "warning",
    expression: `sum by (namespace, pod) (rate(${xserver("requests_total")}{verdict="deny"}[10m])) > 1 and sum by (namespace, pod) (rate(${xserver("requests_total")}{verdict="deny"}[10m])) > 5 * sum by (namespace, pod) (rate(${xserver("requests_total")}{verdict="deny"}[10m] offset 1d))`,
    for: "15m",
    summary: "a workload denies five times as many requests as this time yesterday",
  },
]

export function alertManifest(values: InstallValues, namespace: string): KubernetesObject {
  const { controlPlane } = componentNames(meshNames({ mesh: values.mesh, domain: values.domain }))
  const rules = alerts(metricNames(values.mesh)).map(({ name, severity, expression, summary, for: lasting }) => ({
    alert: name,
    expr: expression,
    for: lasting,
    labels: { severity },
    annotations: { summary },
  }))
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: `${controlPlane}-alerts`, namespace, labels: values.alerts.labels },
    spec: { groups: [{ name: controlPlane, rules }] },
  }
}
