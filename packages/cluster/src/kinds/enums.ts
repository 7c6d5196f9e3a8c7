// SPDX-License-Identifier: Apache-2.0
//
// The values that fields of built-in kinds may take, where Kubernetes names them: `kubectl explain` lists them, and
// editors complete them. By type and field; a field of many values lists what its items may be.

const CORE = "io.k8s.api.core.v1."
const APPS = "io.k8s.api.apps.v1."
const ADMISSION = "io.k8s.api.admissionregistration.v1."

const protocol = ["SCTP", "TCP", "UDP"]
const taintEffect = ["NoExecute", "NoSchedule", "PreferNoSchedule"]
const family = ["", "IPv4", "IPv6"]
const traffic = ["Cluster", "Local"]
const failurePolicy = ["Fail", "Ignore"]
const matchPolicy = ["Equivalent", "Exact"]
const sideEffects = ["None", "NoneOnDryRun", "Some", "Unknown"]
const container = {
  imagePullPolicy: ["Always", "IfNotPresent", "Never"],
  terminationMessagePolicy: ["FallbackToLogsOnError", "File"],
}
const rollingUpdate = { type: ["OnDelete", "RollingUpdate"] }

export const enums: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  [`${CORE}ServiceSpec`]: {
    type: ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    externalTrafficPolicy: traffic,
    internalTrafficPolicy: traffic,
    ipFamilies: family,
    ipFamilyPolicy: ["PreferDualStack", "RequireDualStack", "SingleStack"],
    sessionAffinity: ["ClientIP", "None"],
  },
  [`${CORE}ServicePort`]: { protocol },
  [`${CORE}ContainerPort`]: { protocol },
  [`${CORE}EndpointPort`]: { protocol },
  [`${CORE}Container`]: container,
  [`${CORE}EphemeralContainer`]: container,
  [`${CORE}PodSpec`]: {
    dnsPolicy: ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
    preemptionPolicy: ["Never", "PreemptLowerPriority"],
    restartPolicy: ["Always", "Never", "OnFailure"],
  },
  [`${CORE}PodStatus`]: {
    phase: ["Failed", "Pending", "Running", "Succeeded", "Unknown"],
    qosClass: ["BestEffort", "Burstable", "Guaranteed"],
  },
  [`${CORE}NamespaceStatus`]: { phase: ["Active", "Terminating"] },
  [`${CORE}HTTPGetAction`]: { scheme: ["HTTP", "HTTPS"] },
  [`${CORE}Taint`]: { effect: taintEffect },
  [`${CORE}Toleration`]: { effect: taintEffect },
  [`${CORE}NodeSelectorRequirement`]: { operator: ["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"] },
  [`${CORE}TopologySpreadConstraint`]: { whenUnsatisfiable: ["DoNotSchedule", "ScheduleAnyway"] },
  [`${CORE}SeccompProfile`]: { type: ["Localhost", "RuntimeDefault", "Unconfined"] },
  [`${CORE}PersistentVolumeSpec`]: { persistentVolumeReclaimPolicy: ["Delete", "Recycle", "Retain"] },
  [`${CORE}PersistentVolumeStatus`]: { phase: ["Available", "Bound", "Failed", "Pending", "Released"] },
  [`${CORE}PersistentVolumeClaimStatus`]: { phase: ["Bound", "Lost", "Pending"] },
  [`${APPS}DeploymentStrategy`]: { type: ["Recreate", "RollingUpdate"] },
  [`${APPS}DaemonSetUpdateStrategy`]: rollingUpdate,
  [`${APPS}StatefulSetUpdateStrategy`]: rollingUpdate,
  [`${APPS}StatefulSetSpec`]: { podManagementPolicy: ["OrderedReady", "Parallel"] },
  "io.k8s.api.batch.v1.CronJobSpec": { concurrencyPolicy: ["Allow", "Forbid", "Replace"] },
  "io.k8s.api.batch.v1.JobSpec": {
    completionMode: ["Indexed", "NonIndexed"],
    podReplacementPolicy: ["Failed", "TerminatingOrFailed"],
  },
  "io.k8s.api.discovery.v1.EndpointSlice": { addressType: ["FQDN", "IPv4", "IPv6"] },
  "io.k8s.api.networking.v1.HTTPIngressPath": { pathType: ["Exact", "ImplementationSpecific", "Prefix"] },
  "io.k8s.api.networking.v1.NetworkPolicySpec": { policyTypes: ["Egress", "Ingress"] },
  "io.k8s.api.networking.v1.NetworkPolicyPort": { protocol },
  [`${ADMISSION}ValidatingWebhook`]: { failurePolicy, matchPolicy, sideEffects },
  [`${ADMISSION}MutatingWebhook`]: {
    ...{ failurePolicy, matchPolicy, sideEffects },
    reinvocationPolicy: ["IfNeeded", "Never"],
  },
  [`${ADMISSION}RuleWithOperations`]: {
    operations: ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"],
    scope: ["*", "Cluster", "Namespaced"],
  },
}
