// SPDX-License-Identifier: Apache-2.0
// The permitted values of fields of built-in kinds, as listed by Kubernetes 1.36: `kubectl explain` prints them, and
// editors complete them. By type and field; for a list field, the values of its items.

const PROTOCOLS = "SCTP|TCP|UDP"
const PULL_POLICIES = "Always|IfNotPresent|Never"
const FAILURE_POLICIES = "Fail|Ignore"
const MATCH_POLICIES = "Equivalent|Exact"
const ACCESS_MODES = "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod"
const QUOTA_SCOPES =
  "BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass"
const SIGNALS =
  "SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ"

/** By package and type. Values are separated by `|`; an empty text between them is a value too. */
const TABLE: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>> = {
  "io.k8s.api.admissionregistration.v1": {
    MatchResources: { matchPolicy: MATCH_POLICIES },
    MutatingAdmissionPolicySpec: { failurePolicy: FAILURE_POLICIES, reinvocationPolicy: "IfNeeded|Never" },
    MutatingWebhook: {
      failurePolicy: FAILURE_POLICIES,
      matchPolicy: MATCH_POLICIES,
      reinvocationPolicy: "IfNeeded|Never",
      sideEffects: "None|NoneOnDryRun|Some|Unknown",
    },
    Mutation: { patchType: "ApplyConfiguration|JSONPatch" },
    NamedRuleWithOperations: { operations: "*|CONNECT|CREATE|DELETE|UPDATE", scope: "*|Cluster|Namespaced" },
    RuleWithOperations: { operations: "*|CONNECT|CREATE|DELETE|UPDATE", scope: "*|Cluster|Namespaced" },
    ValidatingAdmissionPolicyBindingSpec: { validationActions: "Audit|Deny|Warn" },
    ValidatingAdmissionPolicySpec: { failurePolicy: FAILURE_POLICIES },
    ValidatingWebhook: {
      failurePolicy: FAILURE_POLICIES,
      matchPolicy: MATCH_POLICIES,
      sideEffects: "None|NoneOnDryRun|Some|Unknown",
    },
  },
  "io.k8s.api.apps.v1": {
    DaemonSetUpdateStrategy: { type: "OnDelete|RollingUpdate" },
    DeploymentStrategy: { type: "Recreate|RollingUpdate" },
    StatefulSetSpec: { podManagementPolicy: "OrderedReady|Parallel" },
    StatefulSetUpdateStrategy: { type: "OnDelete|RollingUpdate" },
  },
  "io.k8s.api.batch.v1": {
    CronJobSpec: { concurrencyPolicy: "Allow|Forbid|Replace" },
    JobSpec: { completionMode: "Indexed|NonIndexed", podReplacementPolicy: "Failed|TerminatingOrFailed" },
    PodFailurePolicyOnExitCodesRequirement: { operator: "In|NotIn" },
    PodFailurePolicyRule: { action: "Count|FailIndex|FailJob|Ignore" },
  },
  "io.k8s.api.certificates.v1": {
    CertificateSigningRequestSpec: {
      usages:
        "any|cert sign|client auth|code signing|content commitment|crl sign|data encipherment|decipher only|digital signature|email protection|encipher only|ipsec end system|ipsec tunnel|ipsec user|key agreement|key encipherment|microsoft sgc|netscape sgc|ocsp signing|s/mime|server auth|signing|timestamping",
    },
  },
  "io.k8s.api.core.v1": {
    AppArmorProfile: { type: "Localhost|RuntimeDefault|Unconfined" },
    AzureDiskVolumeSource: { cachingMode: "None|ReadOnly|ReadWrite", kind: "Dedicated|Managed|Shared" },
    Container: { imagePullPolicy: PULL_POLICIES, terminationMessagePolicy: "FallbackToLogsOnError|File" },
    ContainerPort: { protocol: PROTOCOLS },
    ContainerStatus: {
      stopSignal: SIGNALS,
    },
    EndpointPort: { protocol: PROTOCOLS },
    EphemeralContainer: {
      imagePullPolicy: PULL_POLICIES,
      terminationMessagePolicy: "FallbackToLogsOnError|File",
    },
    HTTPGetAction: { scheme: "HTTP|HTTPS" },
    HostPathVolumeSource: { type: "|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket" },
    ImageVolumeSource: { pullPolicy: PULL_POLICIES },
    Lifecycle: {
      stopSignal: SIGNALS,
    },
    ModifyVolumeStatus: { status: "InProgress|Infeasible|Pending" },
    NamespaceStatus: { phase: "Active|Terminating" },
    NodeSelectorRequirement: { operator: "DoesNotExist|Exists|Gt|In|Lt|NotIn" },
    NodeStatus: { phase: "Pending|Running|Terminated" },
    PersistentVolumeClaimSpec: {
      accessModes: ACCESS_MODES,
      volumeMode: "Block|Filesystem",
    },
    PersistentVolumeClaimStatus: {
      accessModes: ACCESS_MODES,
      allocatedResourceStatuses:
        "ControllerResizeInProgress|ControllerResizeInfeasible|NodeResizeInProgress|NodeResizeInfeasible|NodeResizePending",
      phase: "Bound|Lost|Pending",
    },
    PersistentVolumeSpec: {
      accessModes: ACCESS_MODES,
      persistentVolumeReclaimPolicy: "Delete|Recycle|Retain",
      volumeMode: "Block|Filesystem",
    },
    PersistentVolumeStatus: { phase: "Available|Bound|Failed|Pending|Released" },
    PodSecurityContext: { fsGroupChangePolicy: "Always|OnRootMismatch", supplementalGroupsPolicy: "Merge|Strict" },
    PodSpec: {
      dnsPolicy: "ClusterFirst|ClusterFirstWithHostNet|Default|None",
      preemptionPolicy: "Never|PreemptLowerPriority",
      restartPolicy: "Always|Never|OnFailure",
    },
    PodStatus: { phase: "Failed|Pending|Running|Succeeded|Unknown", qosClass: "BestEffort|Burstable|Guaranteed" },
    PortStatus: { protocol: PROTOCOLS },
    ResourceQuotaSpec: {
      scopes: QUOTA_SCOPES,
    },
    ScopedResourceSelectorRequirement: {
      operator: "DoesNotExist|Exists|In|NotIn",
      scopeName: QUOTA_SCOPES,
    },
    SeccompProfile: { type: "Localhost|RuntimeDefault|Unconfined" },
    SecurityContext: { procMount: "Default|Unmasked" },
    ServicePort: { protocol: PROTOCOLS },
    ServiceSpec: {
      externalTrafficPolicy: "Cluster|Local",
      internalTrafficPolicy: "Cluster|Local",
      ipFamilies: "|IPv4|IPv6",
      ipFamilyPolicy: "PreferDualStack|RequireDualStack|SingleStack",
      sessionAffinity: "ClientIP|None",
      type: "ClusterIP|ExternalName|LoadBalancer|NodePort",
    },
    Taint: { effect: "NoExecute|NoSchedule|PreferNoSchedule" },
    Toleration: { effect: "NoExecute|NoSchedule|PreferNoSchedule", operator: "Equal|Exists|Gt|Lt" },
    TopologySpreadConstraint: {
      nodeAffinityPolicy: "Honor|Ignore",
      nodeTaintsPolicy: "Honor|Ignore",
      whenUnsatisfiable: "DoNotSchedule|ScheduleAnyway",
    },
    VolumeMount: { mountPropagation: "Bidirectional|HostToContainer|None" },
  },
  "io.k8s.api.discovery.v1": {
    EndpointPort: { protocol: PROTOCOLS },
    EndpointSlice: { addressType: "FQDN|IPv4|IPv6" },
  },
  "io.k8s.api.networking.v1": {
    HTTPIngressPath: { pathType: "Exact|ImplementationSpecific|Prefix" },
    IngressPortStatus: { protocol: PROTOCOLS },
    NetworkPolicyPort: { protocol: PROTOCOLS },
    NetworkPolicySpec: { policyTypes: "Egress|Ingress" },
  },
  "io.k8s.api.policy.v1": {
    PodDisruptionBudgetSpec: { unhealthyPodEvictionPolicy: "AlwaysAllow|IfHealthyBudget" },
  },
  "io.k8s.api.resource.v1": {
    DeviceAllocationConfiguration: { source: "FromClaim|FromClass" },
    DeviceSubRequest: { allocationMode: "All|ExactCount" },
    DeviceTaint: { effect: "NoExecute|NoSchedule|None" },
    DeviceToleration: { effect: "NoExecute|NoSchedule|None", operator: "Equal|Exists" },
    ExactDeviceRequest: { allocationMode: "All|ExactCount" },
  },
  "io.k8s.api.scheduling.v1": {
    PriorityClass: { preemptionPolicy: "Never|PreemptLowerPriority" },
  },
  "io.k8s.api.storage.v1": {
    StorageClass: { reclaimPolicy: "Delete|Recycle|Retain", volumeBindingMode: "Immediate|WaitForFirstConsumer" },
  },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1": {
    ValidationRule: { reason: "FieldValueDuplicate|FieldValueForbidden|FieldValueInvalid|FieldValueRequired" },
  },
}

export function enumOf(type: string, field: string): readonly string[] | undefined {
  const dot = type.lastIndexOf(".")
  return TABLE[type.slice(0, dot)]?.[type.slice(dot + 1)]?.[field]?.split("|")
}
