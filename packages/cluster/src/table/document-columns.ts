// SPDX-License-Identifier: Apache-2.0
//
// Columns of the kinds that this server only keeps as documents: jobs, budgets, scalers, volumes, classes.

import type { Column } from "../registry/kind.js"
import { asArray, asObject, asString, asStrings, dig, type Json, type JsonObject, scalarText } from "../value.js"
import { age, CORE, column, containers, count, doc, orNone, selector, size, template, text } from "./column-parts.js"
import { nameColumn } from "./custom-columns.js"
import { ageOf, humanDuration } from "./duration.js"

const orNA =
  (...path: string[]) =>
  (object: JsonObject): Json =>
    scalarText(dig(object, ...path)) || "N/A"

function jobStatus(job: JsonObject): string {
  const has = (type: string): boolean =>
    asArray(dig(job, "status", "conditions"))
      .map(asObject)
      .some(item => item.type === type && item.status === "True")
  if (has("Complete")) return "Complete"
  if (has("Failed")) return "Failed"
  if (dig(job, "metadata", "deletionTimestamp") !== undefined) return "Terminating"
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(has) ?? "Running"
}

function completions(job: JsonObject): string {
  const done = scalarText(dig(job, "status", "succeeded") ?? 0)
  const wanted = dig(job, "spec", "completions")
  if (wanted !== undefined && wanted !== null) return `${done}/${scalarText(wanted)}`
  const parallel = Number(scalarText(dig(job, "spec", "parallelism") ?? 0))
  return parallel > 1 ? `${done}/1 of ${parallel}` : `${done}/1`
}

function jobDuration(job: JsonObject, now: number): string {
  const start = Date.parse(asString(dig(job, "status", "startTime")))
  if (Number.isNaN(start)) return ""
  const end = Date.parse(asString(dig(job, "status", "completionTime")))
  return humanDuration((Number.isNaN(end) ? now : end) - start)
}

function quota(object: JsonObject, limits: boolean): string {
  const used = asObject(dig(object, "status", "used"))
  return Object.entries(asObject(dig(object, "status", "hard")))
    .filter(([name]) => name.startsWith("limits.") === limits)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, hard]) => `${name}: ${asString(used[name]) || "0"}/${asString(hard)}`)
    .join(", ")
}

const modes: Record<string, string> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
}
const accessModes = (value: Json | undefined): string =>
  asStrings(value)
    .map(mode => modes[mode] ?? mode)
    .join(",")

const BATCH = "io.k8s.api.batch.v1."
const SCALER = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"

/** What a component's one condition says of it. */
const health = (component: JsonObject): JsonObject =>
  asArray(component.conditions)
    .map(asObject)
    .find(condition => condition.type === "Healthy") ?? {}

export const documentTables: Record<string, () => Column[]> = {
  ComponentStatus: () => [
    nameColumn(),
    column("Status", "string", "Status of the component conditions", o =>
      health(o).status === "True" ? "Healthy" : "Unhealthy",
    ),
    column("Message", "string", "Message of the component conditions", o => asString(health(o).message)),
    column("Error", "string", "Error of the component conditions", o => asString(health(o).error)),
  ],
  Job: () => [
    nameColumn(),
    column("Status", "string", "Status of the job.", jobStatus),
    column("Completions", "string", doc(`${BATCH}JobStatus`, "succeeded"), completions),
    column("Duration", "string", "Time required to complete the job.", jobDuration),
    age(),
    ...containers(template),
    selector(`${BATCH}JobSpec`),
  ],
  CronJob: () => [
    nameColumn(),
    column("Schedule", "string", doc(`${BATCH}CronJobSpec`, "schedule"), text("spec", "schedule")),
    column("Timezone", "string", doc(`${BATCH}CronJobSpec`, "timeZone"), orNone("spec", "timeZone")),
    column("Suspend", "boolean", doc(`${BATCH}CronJobSpec`, "suspend"), o =>
      dig(o, "spec", "suspend") === true ? "True" : "False",
    ),
    column("Active", "integer", doc(`${BATCH}CronJobStatus`, "active"), size("status", "active")),
    column("Last Schedule", "string", doc(`${BATCH}CronJobStatus`, "lastScheduleTime"), (o, now) => {
      const last = dig(o, "status", "lastScheduleTime")
      return last === undefined || last === null ? "<none>" : ageOf(last, now)
    }),
    age(),
    ...containers(o => dig(o, "spec", "jobTemplate", "spec", "template")),
    selector(`${BATCH}JobSpec`),
  ],
  PodDisruptionBudget: () => [
    nameColumn(),
    column(
      "Min Available",
      "string",
      "The minimum number of pods that must be available.",
      orNA("spec", "minAvailable"),
    ),
    column(
      "Max Unavailable",
      "string",
      "The maximum number of pods that may be unavailable.",
      orNA("spec", "maxUnavailable"),
    ),
    column(
      "Allowed Disruptions",
      "integer",
      "Calculated number of pods that may be disrupted at this time.",
      count("status", "disruptionsAllowed"),
    ),
    age(),
  ],
  HorizontalPodAutoscaler: () => [
    nameColumn(),
    column(
      "Reference",
      "string",
      doc(`${SCALER}Spec`, "scaleTargetRef"),
      o =>
        `${asString(dig(o, "spec", "scaleTargetRef", "kind"))}/${asString(dig(o, "spec", "scaleTargetRef", "name"))}`,
    ),
    column("Targets", "string", doc(`${SCALER}Spec`, "metrics"), () => "<unknown>"),
    column(
      "MinPods",
      "string",
      doc(`${SCALER}Spec`, "minReplicas"),
      o => scalarText(dig(o, "spec", "minReplicas")) || "<unset>",
    ),
    column("MaxPods", "string", doc(`${SCALER}Spec`, "maxReplicas"), count("spec", "maxReplicas")),
    column("Replicas", "string", doc(`${SCALER}Status`, "currentReplicas"), count("status", "currentReplicas")),
    age(),
  ],
  PersistentVolumeClaim: () => [
    nameColumn(),
    column("Status", "string", doc(`${CORE}PersistentVolumeClaimStatus`, "phase"), text("status", "phase")),
    column("Volume", "string", doc(`${CORE}PersistentVolumeClaimSpec`, "volumeName"), text("spec", "volumeName")),
    column(
      "Capacity",
      "string",
      doc(`${CORE}PersistentVolumeClaimStatus`, "capacity"),
      text("status", "capacity", "storage"),
    ),
    column("Access Modes", "string", doc(`${CORE}PersistentVolumeClaimStatus`, "accessModes"), o =>
      accessModes(dig(o, "status", "accessModes")),
    ),
    column("StorageClass", "string", "StorageClass of the pvc", text("spec", "storageClassName")),
    column(
      "VolumeAttributesClass",
      "string",
      "VolumeAttributesClass of the pvc",
      o => asString(dig(o, "spec", "volumeAttributesClassName")) || "<unset>",
    ),
    age(),
    column(
      "VolumeMode",
      "string",
      doc(`${CORE}PersistentVolumeClaimSpec`, "volumeMode"),
      o => asString(dig(o, "spec", "volumeMode")) || "<unset>",
      1,
    ),
  ],
  PersistentVolume: () => [
    nameColumn(),
    column("Capacity", "string", doc(`${CORE}PersistentVolumeSpec`, "capacity"), text("spec", "capacity", "storage")),
    column("Access Modes", "string", doc(`${CORE}PersistentVolumeSpec`, "accessModes"), o =>
      accessModes(dig(o, "spec", "accessModes")),
    ),
    column(
      "Reclaim Policy",
      "string",
      doc(`${CORE}PersistentVolumeSpec`, "persistentVolumeReclaimPolicy"),
      text("spec", "persistentVolumeReclaimPolicy"),
    ),
    column("Status", "string", doc(`${CORE}PersistentVolumeStatus`, "phase"), text("status", "phase")),
    column("Claim", "string", doc(`${CORE}PersistentVolumeSpec`, "claimRef"), o => {
      const claim = asObject(dig(o, "spec", "claimRef"))
      return claim.name === undefined ? "" : `${asString(claim.namespace)}/${asString(claim.name)}`
    }),
    column("StorageClass", "string", "StorageClass of the pv", text("spec", "storageClassName")),
    column(
      "VolumeAttributesClass",
      "string",
      "VolumeAttributesClass of the pv",
      o => asString(dig(o, "spec", "volumeAttributesClassName")) || "<unset>",
    ),
    column("Reason", "string", doc(`${CORE}PersistentVolumeStatus`, "reason"), text("status", "reason")),
    age(),
    column(
      "VolumeMode",
      "string",
      doc(`${CORE}PersistentVolumeSpec`, "volumeMode"),
      o => asString(dig(o, "spec", "volumeMode")) || "<unset>",
      1,
    ),
  ],
  StorageClass: () => [
    nameColumn(),
    column("Provisioner", "string", doc("io.k8s.api.storage.v1.StorageClass", "provisioner"), text("provisioner")),
    column(
      "ReclaimPolicy",
      "string",
      doc("io.k8s.api.storage.v1.StorageClass", "reclaimPolicy"),
      text("reclaimPolicy"),
    ),
    column(
      "VolumeBindingMode",
      "string",
      doc("io.k8s.api.storage.v1.StorageClass", "volumeBindingMode"),
      text("volumeBindingMode"),
    ),
    column(
      "AllowVolumeExpansion",
      "string",
      doc("io.k8s.api.storage.v1.StorageClass", "allowVolumeExpansion"),
      o => o.allowVolumeExpansion === true,
    ),
    age(),
  ],
  PriorityClass: () => [
    nameColumn(),
    column("Value", "integer", doc("io.k8s.api.scheduling.v1.PriorityClass", "value"), count("value")),
    column(
      "Global-Default",
      "boolean",
      doc("io.k8s.api.scheduling.v1.PriorityClass", "globalDefault"),
      o => o.globalDefault === true,
    ),
    age(),
    column(
      "PreemptionPolicy",
      "string",
      doc("io.k8s.api.scheduling.v1.PriorityClass", "preemptionPolicy"),
      text("preemptionPolicy"),
      1,
    ),
  ],
  ResourceQuota: () => [
    nameColumn(),
    column("Request", "string", "Request represents a minimum amount of cpu/memory that a container may consume.", o =>
      quota(o, false),
    ),
    column(
      "Limit",
      "string",
      "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
      o => quota(o, true),
    ),
    age(),
  ],
  IngressClass: () => [
    nameColumn(),
    column(
      "Controller",
      "string",
      "Controller that is responsible for handling this class",
      text("spec", "controller"),
    ),
    column("Parameters", "string", "A reference to a resource with additional parameters", o => {
      const parameters = asObject(dig(o, "spec", "parameters"))
      const group = asString(parameters.apiGroup)
      return parameters.name === undefined
        ? "<none>"
        : `${asString(parameters.kind)}${group === "" ? "" : `.${group}`}/${asString(parameters.name)}`
    }),
    age(),
  ],
  ValidatingAdmissionPolicy: () => [
    nameColumn(),
    column(
      "Validations",
      "integer",
      "Validations indicates the number of validation rules defined in this configuration",
      size("spec", "validations"),
    ),
    column("ParamKind", "string", "ParamKind specifies the kind of resources used to parameterize this policy", o => {
      const kind = asObject(dig(o, "spec", "paramKind"))
      return kind.kind === undefined ? "<unset>" : `${asString(kind.apiVersion)}/${asString(kind.kind)}`
    }),
    age(),
  ],
  ValidatingAdmissionPolicyBinding: () => [
    nameColumn(),
    column(
      "PolicyName",
      "string",
      "PolicyName indicates the policy definition which the policy binding binded to",
      text("spec", "policyName"),
    ),
    column(
      "ParamRef",
      "string",
      "ParamRef indicates the param resource which sets the configuration param",
      o => asString(dig(o, "spec", "paramRef", "name")) || "<unset>",
    ),
    age(),
  ],
  RuntimeClass: () => [
    nameColumn(),
    column("Handler", "string", doc("io.k8s.api.node.v1.RuntimeClass", "handler"), text("handler")),
    age(),
  ],
}
