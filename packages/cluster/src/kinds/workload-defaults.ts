// SPDX-License-Identifier: Apache-2.0
// Defaults of the workload kinds (apps, batch, autoscaling), which this server stores as plain documents.

import { asObject, isEmpty, type Json, type JsonObject } from "../value.js"

const absent = (target: JsonObject, key: string, value: Json): void => {
  if (target[key] === undefined || target[key] === null) target[key] = value
}

function rolling(spec: JsonObject, key: string, settings: JsonObject): void {
  const strategy = asObject(spec[key])
  if (isEmpty(strategy.type)) strategy.type = "RollingUpdate"
  if (strategy.type === "RollingUpdate") {
    const update = asObject(strategy.rollingUpdate)
    for (const [name, value] of Object.entries(settings)) absent(update, name, value)
    strategy.rollingUpdate = update
  }
  spec[key] = strategy
}

export const workloadDefaults: Record<string, (value: JsonObject) => void> = {
  "io.k8s.api.apps.v1.Deployment": deployment => {
    const spec = asObject(deployment.spec)
    absent(spec, "replicas", 1)
    rolling(spec, "strategy", { maxUnavailable: "25%", maxSurge: "25%" })
    absent(spec, "revisionHistoryLimit", 10)
    absent(spec, "progressDeadlineSeconds", 600)
  },
  "io.k8s.api.apps.v1.ReplicaSet": set => absent(asObject(set.spec), "replicas", 1),
  "io.k8s.api.apps.v1.StatefulSet": set => {
    const spec = asObject(set.spec)
    if (isEmpty(spec.podManagementPolicy)) spec.podManagementPolicy = "OrderedReady"
    rolling(spec, "updateStrategy", { partition: 0 })
    absent(spec, "replicas", 1)
    absent(spec, "revisionHistoryLimit", 10)
    const retention = asObject(spec.persistentVolumeClaimRetentionPolicy)
    if (isEmpty(retention.whenDeleted)) retention.whenDeleted = "Retain"
    if (isEmpty(retention.whenScaled)) retention.whenScaled = "Retain"
    spec.persistentVolumeClaimRetentionPolicy = retention
  },
  "io.k8s.api.apps.v1.DaemonSet": set => {
    const spec = asObject(set.spec)
    rolling(spec, "updateStrategy", { maxUnavailable: 1, maxSurge: 0 })
    absent(spec, "revisionHistoryLimit", 10)
  },
  "io.k8s.api.batch.v1.Job": job => {
    const spec = asObject(job.spec)
    if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1
    absent(spec, "parallelism", 1)
    absent(spec, "backoffLimit", 6)
    absent(spec, "completionMode", "NonIndexed")
    absent(spec, "suspend", false)
    absent(spec, "podReplacementPolicy", "TerminatingOrFailed")
  },
  "io.k8s.api.batch.v1.CronJob": job => {
    const spec = asObject(job.spec)
    if (isEmpty(spec.concurrencyPolicy)) spec.concurrencyPolicy = "Allow"
    absent(spec, "suspend", false)
    absent(spec, "successfulJobsHistoryLimit", 3)
    absent(spec, "failedJobsHistoryLimit", 1)
  },
  "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler": scaler => absent(asObject(scaler.spec), "minReplicas", 1),
  "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler": scaler => absent(asObject(scaler.spec), "minReplicas", 1),
}
