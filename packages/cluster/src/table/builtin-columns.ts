// SPDX-License-Identifier: Apache-2.0
// The columns that `kubectl get` shows for built-in kinds, with the documentation of their fields. Kinds without their
// own columns show name and creation time.

import type { Column } from "../registry/kind.js"
import { isCondition } from "../schema/crd.js"
import { printSelector, selectorFromObject } from "../selectors/label.js"
import { asArray, asObject, asString, asStrings, dig, isNumber, scalarText } from "../value.js"
import {
  endpointSliceEndpoints,
  endpointSlicePorts,
  endpointsCell,
  externalIps,
  nodeAddress,
  nodeRoles,
  nodeStatus,
  podReady,
  podRestarts,
  podStatus,
  servicePorts,
} from "./cells.js"
import {
  APPS,
  age,
  type Cell,
  CORE,
  column,
  containers,
  count,
  doc,
  labels,
  orNone,
  selector,
  size,
  template,
  text,
} from "./column-parts.js"
import { metaDoc, nameColumn } from "./custom-columns.js"
import { ageOf } from "./duration.js"

const subjects = (binding: string): Column[] =>
  (["User", "Group", "ServiceAccount"] as const).map(kind =>
    column(
      `${kind}s`,
      "string",
      `${kind}s in the ${binding}`,
      object =>
        asArray(object.subjects)
          .map(asObject)
          .filter(subject => subject.kind === kind)
          .map(subject =>
            kind === "ServiceAccount"
              ? `${asString(subject.namespace)}/${asString(subject.name)}`
              : asString(subject.name),
          )
          .join(", "),
      1,
    ),
  )

const binding = (kind: string, title: string): Column[] => [
  nameColumn(),
  column(
    "Role",
    "string",
    doc(`io.k8s.api.rbac.v1.${kind}`, "roleRef").replace(" This field is immutable.", ""),
    object => `${asString(dig(object, "roleRef", "kind"))}/${asString(dig(object, "roleRef", "name"))}`,
  ),
  age(),
  ...subjects(title),
]

const ready: Cell = object =>
  `${scalarText(dig(object, "status", "readyReplicas") ?? 0)}/${scalarText(dig(object, "spec", "replicas") ?? 0)}`

const webhooks = (): Column[] => [
  nameColumn(),
  column(
    "Webhooks",
    "integer",
    "Webhooks indicates the number of webhooks registered in this configuration",
    size("webhooks"),
  ),
  age(),
]

const tables: Record<string, () => Column[]> = {
  Pod: () => [
    nameColumn(),
    column("Ready", "string", "The aggregate readiness state of this pod for accepting traffic.", podReady),
    column("Status", "string", "The aggregate status of the containers in this pod.", podStatus),
    column(
      "Restarts",
      "string",
      "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
      podRestarts,
    ),
    age(),
    column("IP", "string", doc(`${CORE}PodStatus`, "podIP"), orNone("status", "podIP"), 1),
    column("Node", "string", doc(`${CORE}PodSpec`, "nodeName"), orNone("spec", "nodeName"), 1),
    column(
      "Nominated Node",
      "string",
      doc(`${CORE}PodStatus`, "nominatedNodeName"),
      orNone("status", "nominatedNodeName"),
      1,
    ),
    column("Readiness Gates", "string", doc(`${CORE}PodSpec`, "readinessGates"), () => "<none>", 1),
  ],
  Service: () => [
    nameColumn(),
    column("Type", "string", doc(`${CORE}ServiceSpec`, "type"), text("spec", "type")),
    column("Cluster-IP", "string", doc(`${CORE}ServiceSpec`, "clusterIP"), orNone("spec", "clusterIP")),
    column("External-IP", "string", doc(`${CORE}ServiceSpec`, "externalIPs"), externalIps),
    column("Port(s)", "string", doc(`${CORE}ServiceSpec`, "ports"), servicePorts),
    age(),
    column(
      "Selector",
      "string",
      doc(`${CORE}ServiceSpec`, "selector"),
      object => labels(dig(object, "spec", "selector")),
      1,
    ),
  ],
  ConfigMap: () => [
    nameColumn(),
    column(
      "Data",
      "string",
      doc(`${CORE}ConfigMap`, "data"),
      object => Object.keys(asObject(object.data)).length + Object.keys(asObject(object.binaryData)).length,
    ),
    age(),
  ],
  Secret: () => [
    nameColumn(),
    column("Type", "string", doc(`${CORE}Secret`, "type"), text("type")),
    column("Data", "string", doc(`${CORE}Secret`, "data"), size("data")),
    age(),
  ],
  ServiceAccount: () => [nameColumn(), age()],
  Namespace: () => [
    nameColumn(),
    column("Status", "string", "The status of the namespace", text("status", "phase")),
    age(),
  ],
  Node: () => [
    nameColumn(),
    column("Status", "string", "The status of the node", nodeStatus),
    column("Roles", "string", "The roles of the node", nodeRoles),
    age(),
    column(
      "Version",
      "string",
      doc(`${CORE}NodeSystemInfo`, "kubeletVersion"),
      text("status", "nodeInfo", "kubeletVersion"),
    ),
    column("Internal-IP", "string", doc(`${CORE}NodeStatus`, "addresses"), nodeAddress("InternalIP"), 1),
    column("External-IP", "string", doc(`${CORE}NodeStatus`, "addresses"), nodeAddress("ExternalIP"), 1),
    column(
      "OS-Image",
      "string",
      doc(`${CORE}NodeSystemInfo`, "osImage"),
      o => asString(dig(o, "status", "nodeInfo", "osImage")) || "<unknown>",
      1,
    ),
    column(
      "Kernel-Version",
      "string",
      doc(`${CORE}NodeSystemInfo`, "kernelVersion"),
      o => asString(dig(o, "status", "nodeInfo", "kernelVersion")) || "<unknown>",
      1,
    ),
    column(
      "Container-Runtime",
      "string",
      doc(`${CORE}NodeSystemInfo`, "containerRuntimeVersion"),
      o => asString(dig(o, "status", "nodeInfo", "containerRuntimeVersion")) || "<unknown>",
      1,
    ),
  ],
  Event: () => [
    column("Last Seen", "string", doc(`${CORE}Event`, "lastTimestamp"), (o, now) =>
      ageOf(o.lastTimestamp || o.eventTime, now),
    ),
    column("Type", "string", doc(`${CORE}Event`, "type"), text("type")),
    column("Reason", "string", doc(`${CORE}Event`, "reason"), text("reason")),
    column(
      "Object",
      "string",
      doc(`${CORE}Event`, "involvedObject"),
      o => `${asString(dig(o, "involvedObject", "kind")).toLowerCase()}/${asString(dig(o, "involvedObject", "name"))}`,
    ),
    column("Subobject", "string", doc(`${CORE}ObjectReference`, "fieldPath"), text("involvedObject", "fieldPath"), 1),
    column(
      "Source",
      "string",
      doc(`${CORE}Event`, "source"),
      o =>
        [asString(dig(o, "source", "component")) || asString(o.reportingComponent), asString(dig(o, "source", "host"))]
          .filter(part => part !== "")
          .join(", "),
      1,
    ),
    column("Message", "string", doc(`${CORE}Event`, "message"), o => asString(o.message).trim()),
    column(
      "First Seen",
      "string",
      doc(`${CORE}Event`, "firstTimestamp"),
      (o, now) => ageOf(o.firstTimestamp || o.eventTime, now),
      1,
    ),
    column("Count", "string", doc(`${CORE}Event`, "count"), o => (isNumber(o.count) ? o.count : 1), 1),
    { ...nameColumn(), priority: 1 },
  ],
  Endpoints: () => [
    nameColumn(),
    column("Endpoints", "string", doc(`${CORE}Endpoints`, "subsets"), endpointsCell),
    age(),
  ],
  EndpointSlice: () => [
    nameColumn(),
    column("AddressType", "string", doc("io.k8s.api.discovery.v1.EndpointSlice", "addressType"), text("addressType")),
    column("Ports", "string", doc("io.k8s.api.discovery.v1.EndpointSlice", "ports"), endpointSlicePorts),
    column("Endpoints", "string", doc("io.k8s.api.discovery.v1.EndpointSlice", "endpoints"), endpointSliceEndpoints),
    age(),
  ],
  Deployment: () => [
    nameColumn(),
    column("Ready", "string", "Number of the pod with ready state", ready),
    column(
      "Up-to-date",
      "string",
      doc(`${APPS}DeploymentStatus`, "updatedReplicas"),
      count("status", "updatedReplicas"),
    ),
    column(
      "Available",
      "string",
      doc(`${APPS}DeploymentStatus`, "availableReplicas"),
      count("status", "availableReplicas"),
    ),
    age(),
    ...containers(template),
    selector(`${APPS}DeploymentSpec`),
  ],
  ReplicaSet: () => [
    nameColumn(),
    column("Desired", "integer", doc(`${APPS}ReplicaSetSpec`, "replicas"), count("spec", "replicas")),
    column("Current", "integer", doc(`${APPS}ReplicaSetStatus`, "replicas"), count("status", "replicas")),
    column("Ready", "integer", doc(`${APPS}ReplicaSetStatus`, "readyReplicas"), count("status", "readyReplicas")),
    age(),
    ...containers(template),
    selector(`${APPS}ReplicaSetSpec`),
  ],
  StatefulSet: () => [
    nameColumn(),
    column("Ready", "string", "Number of the pod with ready state", ready),
    age(),
    ...containers(template),
  ],
  DaemonSet: () => [
    nameColumn(),
    column(
      "Desired",
      "integer",
      doc(`${APPS}DaemonSetStatus`, "desiredNumberScheduled"),
      count("status", "desiredNumberScheduled"),
    ),
    column(
      "Current",
      "integer",
      doc(`${APPS}DaemonSetStatus`, "currentNumberScheduled"),
      count("status", "currentNumberScheduled"),
    ),
    column("Ready", "integer", doc(`${APPS}DaemonSetStatus`, "numberReady"), count("status", "numberReady")),
    column(
      "Up-to-date",
      "integer",
      doc(`${APPS}DaemonSetStatus`, "updatedNumberScheduled"),
      count("status", "updatedNumberScheduled"),
    ),
    column(
      "Available",
      "integer",
      doc(`${APPS}DaemonSetStatus`, "numberAvailable"),
      count("status", "numberAvailable"),
    ),
    column("Node Selector", "string", doc(`${CORE}PodSpec`, "nodeSelector"), o =>
      labels(dig(o, "spec", "template", "spec", "nodeSelector")),
    ),
    age(),
    ...containers(template),
    selector(`${APPS}DaemonSetSpec`),
  ],
  Lease: () => [
    nameColumn(),
    column(
      "Holder",
      "string",
      doc("io.k8s.api.coordination.v1.LeaseSpec", "holderIdentity"),
      text("spec", "holderIdentity"),
    ),
    age(),
  ],
  RoleBinding: () => binding("RoleBinding", "roleBinding"),
  ClusterRoleBinding: () => binding("ClusterRoleBinding", "clusterRoleBinding"),
  NetworkPolicy: () => [
    nameColumn(),
    column("Pod-Selector", "string", doc("io.k8s.api.networking.v1.NetworkPolicySpec", "podSelector"), o => {
      const parsed = selectorFromObject(dig(o, "spec", "podSelector")) ?? []
      return parsed.length === 0 ? "<none>" : printSelector(parsed)
    }),
    age(),
  ],
  Ingress: () => [
    nameColumn(),
    column(
      "Class",
      "string",
      "The name of the IngressClass resource that should be used for additional configuration",
      orNone("spec", "ingressClassName"),
    ),
    column(
      "Hosts",
      "string",
      "Hosts that incoming requests are matched against before the ingress rule",
      o =>
        asArray(dig(o, "spec", "rules"))
          .map(rule => asString(asObject(rule).host))
          .filter(host => host !== "")
          .join(",") || "*",
    ),
    column("Address", "string", "Address is a list containing ingress points for the load-balancer", () => ""),
    column("Ports", "string", "Ports of TLS configurations that open", o =>
      asArray(dig(o, "spec", "tls")).length > 0 ? "80, 443" : "80",
    ),
    age(),
  ],
  ValidatingWebhookConfiguration: webhooks,
  MutatingWebhookConfiguration: webhooks,
  CustomResourceDefinition: () => [
    nameColumn(),
    column("Scope", "string", "Cluster/Namespaced", text("spec", "scope")),
    column("Versions", "string", "Served versions", o =>
      asArray(dig(o, "spec", "versions"))
        .map(asObject)
        .filter(v => v.served === true || v.storage === true)
        .map(v => `${asString(v.name)}${v.storage === true ? "(storage)" : ""}`)
        .join(","),
    ),
    column("Created At", "date", metaDoc("creationTimestamp"), text("metadata", "creationTimestamp")),
    column("Group", "string", "API group", text("spec", "group"), 1),
    column("Kind", "string", "CustomResource kind", text("spec", "names", "kind"), 1),
    column("ShortNames", "string", "Short names", o => asStrings(dig(o, "spec", "names", "shortNames")).join(","), 1),
    column("Established", "boolean", "Established status", o => isCondition(o, "Established"), 1),
  ],
}

/** Whether the kind has its own converter. The default converter returns null rows for an empty list. */
export function hasOwnTable(kind: string): boolean {
  return Object.hasOwn(tables, kind)
}

export function builtinColumns(kind: string): Column[] {
  const own = Object.hasOwn(tables, kind) ? tables[kind] : undefined
  if (own !== undefined) return own()
  return [
    nameColumn(),
    column("Created At", "date", metaDoc("creationTimestamp"), text("metadata", "creationTimestamp")),
  ]
}
