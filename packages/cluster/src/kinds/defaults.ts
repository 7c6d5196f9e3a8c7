// SPDX-License-Identifier: Apache-2.0
// Defaults of built-in kinds, by type: fills in declared defaults throughout the document, then calls the function of
// each type. Changes a private copy in place.

import { asArray, asObject, asString, isEmpty, isObject, type Json, type JsonObject } from "../value.js"
import type { StructNode, TypeNode } from "./type-table.js"
import { workloadDefaults } from "./workload-defaults.js"

type Default = (value: JsonObject) => void

const CORE = "io.k8s.api.core.v1."
const ADMISSION = "io.k8s.api.admissionregistration.v1."

function setIfEmpty(target: JsonObject, key: string, value: Json): void {
  if (isEmpty(target[key])) target[key] = value
}

function setIfAbsent(target: JsonObject, key: string, value: Json): void {
  if (target[key] === undefined || target[key] === null) target[key] = value
}

function imagePullPolicy(image: string): string {
  const name = image.slice(image.lastIndexOf("/") + 1)
  if (name.includes("@")) return "IfNotPresent"
  const colon = name.indexOf(":")
  return colon < 0 || name.slice(colon + 1) === "latest" ? "Always" : "IfNotPresent"
}

function containerDefaults(container: JsonObject): void {
  setIfEmpty(container, "imagePullPolicy", imagePullPolicy(asString(container.image)))
  setIfEmpty(container, "terminationMessagePath", "/dev/termination-log")
  setIfEmpty(container, "terminationMessagePolicy", "File")
}

const mode420: Default = source => setIfAbsent(source, "defaultMode", 420)

function webhookDefaults(webhook: JsonObject): void {
  setIfAbsent(webhook, "failurePolicy", "Fail")
  setIfAbsent(webhook, "matchPolicy", "Equivalent")
  setIfAbsent(webhook, "namespaceSelector", {})
  setIfAbsent(webhook, "objectSelector", {})
  setIfAbsent(webhook, "timeoutSeconds", 10)
}

const byType: Record<string, Default> = {
  [`${CORE}Container`]: containerDefaults,
  [`${CORE}EphemeralContainer`]: containerDefaults,
  [`${CORE}PodSpec`]: spec => {
    // The deprecated field always has the same value as the current one.
    const account = asString(spec.serviceAccountName) || asString(spec.serviceAccount)
    if (account !== "") {
      spec.serviceAccountName = account
      spec.serviceAccount = account
    }
    setIfEmpty(spec, "dnsPolicy", "ClusterFirst")
    setIfEmpty(spec, "restartPolicy", "Always")
    setIfAbsent(spec, "securityContext", {})
    setIfAbsent(spec, "terminationGracePeriodSeconds", 30)
    setIfEmpty(spec, "schedulerName", "default-scheduler")
  },
  [`${CORE}Pod`]: pod => {
    const spec = asObject(pod.spec)
    for (const container of [...asArray(spec.containers), ...asArray(spec.initContainers)].map(asObject)) {
      const resources = asObject(container.resources)
      if (!isEmpty(resources.limits))
        resources.requests = { ...asObject(resources.limits), ...asObject(resources.requests) }
      if (spec.hostNetwork === true)
        for (const port of asArray(container.ports).map(asObject)) setIfEmpty(port, "hostPort", port.containerPort ?? 0)
    }
    setIfAbsent(spec, "enableServiceLinks", true)
  },
  [`${CORE}Probe`]: probe => {
    setIfEmpty(probe, "timeoutSeconds", 1)
    setIfEmpty(probe, "periodSeconds", 10)
    setIfEmpty(probe, "successThreshold", 1)
    setIfEmpty(probe, "failureThreshold", 3)
  },
  [`${CORE}HTTPGetAction`]: action => {
    setIfEmpty(action, "path", "/")
    setIfEmpty(action, "scheme", "HTTP")
  },
  [`${CORE}Volume`]: volume => {
    if (Object.keys(volume).every(key => key === "name")) volume.emptyDir = {}
  },
  [`${CORE}SecretVolumeSource`]: mode420,
  [`${CORE}ConfigMapVolumeSource`]: mode420,
  [`${CORE}DownwardAPIVolumeSource`]: mode420,
  [`${CORE}ProjectedVolumeSource`]: mode420,
  [`${CORE}HostPathVolumeSource`]: source => setIfAbsent(source, "type", ""),
  [`${CORE}ServiceAccountTokenProjection`]: projection => setIfAbsent(projection, "expirationSeconds", 3600),
  [`${CORE}ObjectFieldSelector`]: selector => setIfEmpty(selector, "apiVersion", "v1"),
  [`${CORE}Service`]: service => serviceDefaults(asObject(service.spec)),
  [`${CORE}Secret`]: secret => {
    const plain = asObject(secret.stringData)
    if (!isEmpty(plain)) {
      const data = asObject(secret.data)
      for (const [key, text] of Object.entries(plain)) data[key] = Buffer.from(asString(text)).toString("base64")
      secret.data = data
    }
    delete secret.stringData
    setIfEmpty(secret, "type", "Opaque")
  },
  [`${CORE}Namespace`]: namespace => {
    const meta = asObject(namespace.metadata)
    if (asString(meta.name) !== "")
      meta.labels = { ...asObject(meta.labels), "kubernetes.io/metadata.name": asString(meta.name) }
  },
  [`${CORE}NamespaceStatus`]: status => setIfEmpty(status, "phase", "Active"),
  [`${CORE}NodeStatus`]: status => {
    if (isEmpty(status.allocatable) && !isEmpty(status.capacity)) status.allocatable = { ...asObject(status.capacity) }
  },
  [`${CORE}EndpointPort`]: port => setIfEmpty(port, "protocol", "TCP"),
  [`${CORE}PersistentVolume`]: volume => {
    setIfEmpty(asObject(volume.status), "phase", "Pending")
    setIfEmpty(asObject(volume.spec), "persistentVolumeReclaimPolicy", "Retain")
    setIfAbsent(asObject(volume.spec), "volumeMode", "Filesystem")
  },
  [`${CORE}PersistentVolumeClaim`]: claim => setIfEmpty(asObject(claim.status), "phase", "Pending"),
  [`${CORE}PersistentVolumeClaimSpec`]: spec => setIfAbsent(spec, "volumeMode", "Filesystem"),
  "io.k8s.api.discovery.v1.EndpointPort": port => {
    setIfAbsent(port, "name", "")
    setIfAbsent(port, "protocol", "TCP")
  },
  "io.k8s.api.networking.v1.NetworkPolicyPort": port => setIfAbsent(port, "protocol", "TCP"),
  "io.k8s.api.networking.v1.NetworkPolicy": policy => {
    const spec = asObject(policy.spec)
    setIfEmpty(spec, "policyTypes", isEmpty(spec.egress) ? ["Ingress"] : ["Ingress", "Egress"])
  },
  "io.k8s.api.rbac.v1.RoleBinding": binding =>
    setIfEmpty(asObject(binding.roleRef), "apiGroup", "rbac.authorization.k8s.io"),
  "io.k8s.api.rbac.v1.ClusterRoleBinding": binding =>
    setIfEmpty(asObject(binding.roleRef), "apiGroup", "rbac.authorization.k8s.io"),
  "io.k8s.api.rbac.v1.Subject": subject => {
    if (subject.kind === "User" || subject.kind === "Group")
      setIfEmpty(subject, "apiGroup", "rbac.authorization.k8s.io")
  },
  [`${ADMISSION}ValidatingWebhook`]: webhookDefaults,
  [`${ADMISSION}MutatingWebhook`]: webhook => {
    webhookDefaults(webhook)
    setIfAbsent(webhook, "reinvocationPolicy", "Never")
  },
  [`${ADMISSION}Rule`]: rule => setIfAbsent(rule, "scope", "*"),
  [`${ADMISSION}RuleWithOperations`]: rule => setIfAbsent(rule, "scope", "*"),
  [`${ADMISSION}NamedRuleWithOperations`]: rule => setIfAbsent(rule, "scope", "*"),
  [`${ADMISSION}ServiceReference`]: reference => setIfAbsent(reference, "port", 443),
  [`${ADMISSION}ValidatingAdmissionPolicySpec`]: spec => setIfAbsent(spec, "failurePolicy", "Fail"),
  [`${ADMISSION}MatchResources`]: match => {
    setIfAbsent(match, "matchPolicy", "Equivalent")
    setIfAbsent(match, "namespaceSelector", {})
    setIfAbsent(match, "objectSelector", {})
  },
  "io.k8s.api.storage.v1.StorageClass": storage => {
    setIfAbsent(storage, "reclaimPolicy", "Delete")
    setIfAbsent(storage, "volumeBindingMode", "Immediate")
  },
  "io.k8s.api.scheduling.v1.PriorityClass": priority =>
    setIfAbsent(priority, "preemptionPolicy", "PreemptLowerPriority"),
  "io.k8s.api.authentication.v1.TokenRequestSpec": spec => setIfAbsent(spec, "expirationSeconds", 3600),
  ...workloadDefaults,
}

function serviceDefaults(spec: JsonObject): void {
  setIfEmpty(spec, "sessionAffinity", "None")
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig
  else if (spec.sessionAffinity === "ClientIP")
    setIfAbsent(spec, "sessionAffinityConfig", { clientIP: { timeoutSeconds: 10800 } })
  setIfEmpty(spec, "type", "ClusterIP")
  for (const port of asArray(spec.ports).map(asObject)) {
    setIfEmpty(port, "protocol", "TCP")
    setIfEmpty(port, "targetPort", port.port ?? 0)
  }
  const external =
    spec.type === "LoadBalancer" ||
    spec.type === "NodePort" ||
    (spec.type === "ClusterIP" && !isEmpty(spec.externalIPs))
  if (external) setIfEmpty(spec, "externalTrafficPolicy", "Cluster")
  if (spec.type === "NodePort" || spec.type === "LoadBalancer" || spec.type === "ClusterIP")
    setIfAbsent(spec, "internalTrafficPolicy", "Cluster")
  if (spec.type === "LoadBalancer") setIfAbsent(spec, "allocateLoadBalancerNodePorts", true)
}

/** Fills in the defaults of the value and of everything below it. */
export function applyTypeDefaults(type: StructNode, value: JsonObject): void {
  for (const field of type.fields) {
    if (field.declaredDefault === undefined) continue
    const current = value[field.name]
    const empty = field.type.kind === "pointer" ? current === undefined || current === null : isEmpty(current)
    if (empty) value[field.name] = JSON.parse(field.declaredDefault) as Json
  }
  byType[type.name]?.(value)
  for (const field of type.fields) {
    const inner = value[field.name]
    if (inner !== undefined && inner !== null) descend(field.type, inner)
  }
}

function descend(node: TypeNode, value: Json): void {
  if (node.kind === "pointer") descend(node.elem, value)
  else if (node.kind === "struct" && isObject(value)) applyTypeDefaults(node, value)
  else if (node.kind === "list" && node.elem.kind !== "string")
    for (const item of asArray(value)) descend(node.elem, item)
  else if (node.kind === "map" && node.elem.kind !== "string" && isObject(value))
    for (const item of Object.values(value)) descend(node.elem, item)
}
