// SPDX-License-Identifier: Apache-2.0
// Derived from Kubernetes, Apache-2.0, by testing/generate-kinds.ts; do not edit.
import type { RawResource } from "../resource-table.js"

export const rawResources: RawResource[] = [
 {
  "name": "bindings",
  "singularName": "binding",
  "namespaced": true,
  "kind": "Binding",
  "verbs": [
   "create"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Binding"
 },
 {
  "name": "componentstatuses",
  "singularName": "componentstatus",
  "namespaced": false,
  "kind": "ComponentStatus",
  "verbs": [
   "get",
   "list"
  ],
  "shortNames": [
   "cs"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.ComponentStatus"
 },
 {
  "name": "configmaps",
  "singularName": "configmap",
  "namespaced": true,
  "kind": "ConfigMap",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "cm"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.ConfigMap"
 },
 {
  "name": "endpoints",
  "singularName": "endpoints",
  "namespaced": true,
  "kind": "Endpoints",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "ep"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Endpoints"
 },
 {
  "name": "events",
  "singularName": "event",
  "namespaced": true,
  "kind": "Event",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "ev"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Event"
 },
 {
  "name": "limitranges",
  "singularName": "limitrange",
  "namespaced": true,
  "kind": "LimitRange",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "limits"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.LimitRange"
 },
 {
  "name": "namespaces",
  "singularName": "namespace",
  "namespaced": false,
  "kind": "Namespace",
  "verbs": [
   "create",
   "delete",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "ns"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Namespace"
 },
 {
  "name": "namespaces/finalize",
  "singularName": "",
  "namespaced": false,
  "kind": "Namespace",
  "verbs": [
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Namespace"
 },
 {
  "name": "namespaces/status",
  "singularName": "",
  "namespaced": false,
  "kind": "Namespace",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Namespace"
 },
 {
  "name": "nodes",
  "singularName": "node",
  "namespaced": false,
  "kind": "Node",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "no"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Node"
 },
 {
  "name": "nodes/proxy",
  "singularName": "",
  "namespaced": false,
  "kind": "NodeProxyOptions",
  "verbs": [
   "create",
   "delete",
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.NodeProxyOptions"
 },
 {
  "name": "nodes/status",
  "singularName": "",
  "namespaced": false,
  "kind": "Node",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Node"
 },
 {
  "name": "persistentvolumeclaims",
  "singularName": "persistentvolumeclaim",
  "namespaced": true,
  "kind": "PersistentVolumeClaim",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "pvc"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.PersistentVolumeClaim"
 },
 {
  "name": "persistentvolumeclaims/status",
  "singularName": "",
  "namespaced": true,
  "kind": "PersistentVolumeClaim",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.PersistentVolumeClaim"
 },
 {
  "name": "persistentvolumes",
  "singularName": "persistentvolume",
  "namespaced": false,
  "kind": "PersistentVolume",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "pv"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.PersistentVolume"
 },
 {
  "name": "persistentvolumes/status",
  "singularName": "",
  "namespaced": false,
  "kind": "PersistentVolume",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.PersistentVolume"
 },
 {
  "name": "pods",
  "singularName": "pod",
  "namespaced": true,
  "kind": "Pod",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "po"
  ],
  "categories": [
   "all"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Pod"
 },
 {
  "name": "pods/attach",
  "singularName": "",
  "namespaced": true,
  "kind": "PodAttachOptions",
  "verbs": [
   "create",
   "get"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.PodAttachOptions"
 },
 {
  "name": "pods/binding",
  "singularName": "",
  "namespaced": true,
  "kind": "Binding",
  "verbs": [
   "create"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Binding"
 },
 {
  "name": "pods/ephemeralcontainers",
  "singularName": "",
  "namespaced": true,
  "kind": "Pod",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Pod"
 },
 {
  "name": "pods/eviction",
  "singularName": "",
  "namespaced": true,
  "kind": "Eviction",
  "verbs": [
   "create"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.policy.v1.Eviction",
  "responseGroup": "policy",
  "responseVersion": "v1"
 },
 {
  "name": "pods/exec",
  "singularName": "",
  "namespaced": true,
  "kind": "PodExecOptions",
  "verbs": [
   "create",
   "get"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.PodExecOptions"
 },
 {
  "name": "pods/log",
  "singularName": "",
  "namespaced": true,
  "kind": "Pod",
  "verbs": [
   "get"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Pod"
 },
 {
  "name": "pods/portforward",
  "singularName": "",
  "namespaced": true,
  "kind": "PodPortForwardOptions",
  "verbs": [
   "create",
   "get"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.PodPortForwardOptions"
 },
 {
  "name": "pods/proxy",
  "singularName": "",
  "namespaced": true,
  "kind": "PodProxyOptions",
  "verbs": [
   "create",
   "delete",
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.PodProxyOptions"
 },
 {
  "name": "pods/resize",
  "singularName": "",
  "namespaced": true,
  "kind": "Pod",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Pod"
 },
 {
  "name": "pods/status",
  "singularName": "",
  "namespaced": true,
  "kind": "Pod",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Pod"
 },
 {
  "name": "podtemplates",
  "singularName": "podtemplate",
  "namespaced": true,
  "kind": "PodTemplate",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.PodTemplate"
 },
 {
  "name": "replicationcontrollers",
  "singularName": "replicationcontroller",
  "namespaced": true,
  "kind": "ReplicationController",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "rc"
  ],
  "categories": [
   "all"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.ReplicationController"
 },
 {
  "name": "replicationcontrollers/scale",
  "singularName": "",
  "namespaced": true,
  "kind": "Scale",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.autoscaling.v1.Scale",
  "responseGroup": "autoscaling",
  "responseVersion": "v1"
 },
 {
  "name": "replicationcontrollers/status",
  "singularName": "",
  "namespaced": true,
  "kind": "ReplicationController",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.ReplicationController"
 },
 {
  "name": "resourcequotas",
  "singularName": "resourcequota",
  "namespaced": true,
  "kind": "ResourceQuota",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "quota"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.ResourceQuota"
 },
 {
  "name": "resourcequotas/status",
  "singularName": "",
  "namespaced": true,
  "kind": "ResourceQuota",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.ResourceQuota"
 },
 {
  "name": "secrets",
  "singularName": "secret",
  "namespaced": true,
  "kind": "Secret",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Secret"
 },
 {
  "name": "serviceaccounts",
  "singularName": "serviceaccount",
  "namespaced": true,
  "kind": "ServiceAccount",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "sa"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.ServiceAccount"
 },
 {
  "name": "serviceaccounts/token",
  "singularName": "",
  "namespaced": true,
  "kind": "TokenRequest",
  "verbs": [
   "create"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.authentication.v1.TokenRequest",
  "responseGroup": "authentication.k8s.io",
  "responseVersion": "v1"
 },
 {
  "name": "services",
  "singularName": "service",
  "namespaced": true,
  "kind": "Service",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "svc"
  ],
  "categories": [
   "all"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Service"
 },
 {
  "name": "services/proxy",
  "singularName": "",
  "namespaced": true,
  "kind": "ServiceProxyOptions",
  "verbs": [
   "create",
   "delete",
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.ServiceProxyOptions"
 },
 {
  "name": "services/status",
  "singularName": "",
  "namespaced": true,
  "kind": "Service",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "",
  "version": "v1",
  "type": "io.k8s.api.core.v1.Service"
 },
 {
  "name": "mutatingadmissionpolicies",
  "singularName": "mutatingadmissionpolicy",
  "namespaced": false,
  "kind": "MutatingAdmissionPolicy",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "categories": [
   "api-extensions"
  ],
  "group": "admissionregistration.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicy"
 },
 {
  "name": "mutatingadmissionpolicybindings",
  "singularName": "mutatingadmissionpolicybinding",
  "namespaced": false,
  "kind": "MutatingAdmissionPolicyBinding",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "categories": [
   "api-extensions"
  ],
  "group": "admissionregistration.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBinding"
 },
 {
  "name": "mutatingwebhookconfigurations",
  "singularName": "mutatingwebhookconfiguration",
  "namespaced": false,
  "kind": "MutatingWebhookConfiguration",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "categories": [
   "api-extensions"
  ],
  "group": "admissionregistration.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration"
 },
 {
  "name": "validatingadmissionpolicies",
  "singularName": "validatingadmissionpolicy",
  "namespaced": false,
  "kind": "ValidatingAdmissionPolicy",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "categories": [
   "api-extensions"
  ],
  "group": "admissionregistration.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy"
 },
 {
  "name": "validatingadmissionpolicies/status",
  "singularName": "",
  "namespaced": false,
  "kind": "ValidatingAdmissionPolicy",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "admissionregistration.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy"
 },
 {
  "name": "validatingadmissionpolicybindings",
  "singularName": "validatingadmissionpolicybinding",
  "namespaced": false,
  "kind": "ValidatingAdmissionPolicyBinding",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "categories": [
   "api-extensions"
  ],
  "group": "admissionregistration.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding"
 },
 {
  "name": "validatingwebhookconfigurations",
  "singularName": "validatingwebhookconfiguration",
  "namespaced": false,
  "kind": "ValidatingWebhookConfiguration",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "categories": [
   "api-extensions"
  ],
  "group": "admissionregistration.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration"
 },
 {
  "name": "customresourcedefinitions",
  "singularName": "customresourcedefinition",
  "namespaced": false,
  "kind": "CustomResourceDefinition",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "crd",
   "crds"
  ],
  "categories": [
   "api-extensions"
  ],
  "group": "apiextensions.k8s.io",
  "version": "v1",
  "type": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
 },
 {
  "name": "customresourcedefinitions/status",
  "singularName": "",
  "namespaced": false,
  "kind": "CustomResourceDefinition",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "apiextensions.k8s.io",
  "version": "v1",
  "type": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
 },
 {
  "name": "apiservices",
  "singularName": "apiservice",
  "namespaced": false,
  "kind": "APIService",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "categories": [
   "api-extensions"
  ],
  "group": "apiregistration.k8s.io",
  "version": "v1",
  "type": "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService"
 },
 {
  "name": "apiservices/status",
  "singularName": "",
  "namespaced": false,
  "kind": "APIService",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "apiregistration.k8s.io",
  "version": "v1",
  "type": "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService"
 },
 {
  "name": "controllerrevisions",
  "singularName": "controllerrevision",
  "namespaced": true,
  "kind": "ControllerRevision",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.apps.v1.ControllerRevision"
 },
 {
  "name": "daemonsets",
  "singularName": "daemonset",
  "namespaced": true,
  "kind": "DaemonSet",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "ds"
  ],
  "categories": [
   "all"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.apps.v1.DaemonSet"
 },
 {
  "name": "daemonsets/status",
  "singularName": "",
  "namespaced": true,
  "kind": "DaemonSet",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.apps.v1.DaemonSet"
 },
 {
  "name": "deployments",
  "singularName": "deployment",
  "namespaced": true,
  "kind": "Deployment",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "deploy"
  ],
  "categories": [
   "all"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.apps.v1.Deployment"
 },
 {
  "name": "deployments/scale",
  "singularName": "",
  "namespaced": true,
  "kind": "Scale",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.autoscaling.v1.Scale",
  "responseGroup": "autoscaling",
  "responseVersion": "v1"
 },
 {
  "name": "deployments/status",
  "singularName": "",
  "namespaced": true,
  "kind": "Deployment",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.apps.v1.Deployment"
 },
 {
  "name": "replicasets",
  "singularName": "replicaset",
  "namespaced": true,
  "kind": "ReplicaSet",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "rs"
  ],
  "categories": [
   "all"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.apps.v1.ReplicaSet"
 },
 {
  "name": "replicasets/scale",
  "singularName": "",
  "namespaced": true,
  "kind": "Scale",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.autoscaling.v1.Scale",
  "responseGroup": "autoscaling",
  "responseVersion": "v1"
 },
 {
  "name": "replicasets/status",
  "singularName": "",
  "namespaced": true,
  "kind": "ReplicaSet",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.apps.v1.ReplicaSet"
 },
 {
  "name": "statefulsets",
  "singularName": "statefulset",
  "namespaced": true,
  "kind": "StatefulSet",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "sts"
  ],
  "categories": [
   "all"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.apps.v1.StatefulSet"
 },
 {
  "name": "statefulsets/scale",
  "singularName": "",
  "namespaced": true,
  "kind": "Scale",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.autoscaling.v1.Scale",
  "responseGroup": "autoscaling",
  "responseVersion": "v1"
 },
 {
  "name": "statefulsets/status",
  "singularName": "",
  "namespaced": true,
  "kind": "StatefulSet",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "apps",
  "version": "v1",
  "type": "io.k8s.api.apps.v1.StatefulSet"
 },
 {
  "name": "selfsubjectreviews",
  "singularName": "selfsubjectreview",
  "namespaced": false,
  "kind": "SelfSubjectReview",
  "verbs": [
   "create"
  ],
  "group": "authentication.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.authentication.v1.SelfSubjectReview"
 },
 {
  "name": "tokenreviews",
  "singularName": "tokenreview",
  "namespaced": false,
  "kind": "TokenReview",
  "verbs": [
   "create"
  ],
  "group": "authentication.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.authentication.v1.TokenReview"
 },
 {
  "name": "localsubjectaccessreviews",
  "singularName": "localsubjectaccessreview",
  "namespaced": true,
  "kind": "LocalSubjectAccessReview",
  "verbs": [
   "create"
  ],
  "group": "authorization.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.authorization.v1.LocalSubjectAccessReview"
 },
 {
  "name": "selfsubjectaccessreviews",
  "singularName": "selfsubjectaccessreview",
  "namespaced": false,
  "kind": "SelfSubjectAccessReview",
  "verbs": [
   "create"
  ],
  "group": "authorization.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.authorization.v1.SelfSubjectAccessReview"
 },
 {
  "name": "selfsubjectrulesreviews",
  "singularName": "selfsubjectrulesreview",
  "namespaced": false,
  "kind": "SelfSubjectRulesReview",
  "verbs": [
   "create"
  ],
  "group": "authorization.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.authorization.v1.SelfSubjectRulesReview"
 },
 {
  "name": "subjectaccessreviews",
  "singularName": "subjectaccessreview",
  "namespaced": false,
  "kind": "SubjectAccessReview",
  "verbs": [
   "create"
  ],
  "group": "authorization.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.authorization.v1.SubjectAccessReview"
 },
 {
  "name": "horizontalpodautoscalers",
  "singularName": "horizontalpodautoscaler",
  "namespaced": true,
  "kind": "HorizontalPodAutoscaler",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "hpa"
  ],
  "categories": [
   "all"
  ],
  "group": "autoscaling",
  "version": "v1",
  "type": "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler"
 },
 {
  "name": "horizontalpodautoscalers/status",
  "singularName": "",
  "namespaced": true,
  "kind": "HorizontalPodAutoscaler",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "autoscaling",
  "version": "v1",
  "type": "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler"
 },
 {
  "name": "horizontalpodautoscalers",
  "singularName": "horizontalpodautoscaler",
  "namespaced": true,
  "kind": "HorizontalPodAutoscaler",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "hpa"
  ],
  "categories": [
   "all"
  ],
  "group": "autoscaling",
  "version": "v2",
  "type": "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"
 },
 {
  "name": "horizontalpodautoscalers/status",
  "singularName": "",
  "namespaced": true,
  "kind": "HorizontalPodAutoscaler",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "autoscaling",
  "version": "v2",
  "type": "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"
 },
 {
  "name": "cronjobs",
  "singularName": "cronjob",
  "namespaced": true,
  "kind": "CronJob",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "cj"
  ],
  "categories": [
   "all"
  ],
  "group": "batch",
  "version": "v1",
  "type": "io.k8s.api.batch.v1.CronJob"
 },
 {
  "name": "cronjobs/status",
  "singularName": "",
  "namespaced": true,
  "kind": "CronJob",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "batch",
  "version": "v1",
  "type": "io.k8s.api.batch.v1.CronJob"
 },
 {
  "name": "jobs",
  "singularName": "job",
  "namespaced": true,
  "kind": "Job",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "categories": [
   "all"
  ],
  "group": "batch",
  "version": "v1",
  "type": "io.k8s.api.batch.v1.Job"
 },
 {
  "name": "jobs/status",
  "singularName": "",
  "namespaced": true,
  "kind": "Job",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "batch",
  "version": "v1",
  "type": "io.k8s.api.batch.v1.Job"
 },
 {
  "name": "certificatesigningrequests",
  "singularName": "certificatesigningrequest",
  "namespaced": false,
  "kind": "CertificateSigningRequest",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "csr"
  ],
  "group": "certificates.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.certificates.v1.CertificateSigningRequest"
 },
 {
  "name": "certificatesigningrequests/approval",
  "singularName": "",
  "namespaced": false,
  "kind": "CertificateSigningRequest",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "certificates.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.certificates.v1.CertificateSigningRequest"
 },
 {
  "name": "certificatesigningrequests/status",
  "singularName": "",
  "namespaced": false,
  "kind": "CertificateSigningRequest",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "certificates.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.certificates.v1.CertificateSigningRequest"
 },
 {
  "name": "leases",
  "singularName": "lease",
  "namespaced": true,
  "kind": "Lease",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "coordination.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.coordination.v1.Lease"
 },
 {
  "name": "endpointslices",
  "singularName": "endpointslice",
  "namespaced": true,
  "kind": "EndpointSlice",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "discovery.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.discovery.v1.EndpointSlice"
 },
 {
  "name": "events",
  "singularName": "event",
  "namespaced": true,
  "kind": "Event",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "ev"
  ],
  "group": "events.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.events.v1.Event"
 },
 {
  "name": "flowschemas",
  "singularName": "flowschema",
  "namespaced": false,
  "kind": "FlowSchema",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "flowcontrol.apiserver.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.flowcontrol.v1.FlowSchema"
 },
 {
  "name": "flowschemas/status",
  "singularName": "",
  "namespaced": false,
  "kind": "FlowSchema",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "flowcontrol.apiserver.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.flowcontrol.v1.FlowSchema"
 },
 {
  "name": "prioritylevelconfigurations",
  "singularName": "prioritylevelconfiguration",
  "namespaced": false,
  "kind": "PriorityLevelConfiguration",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "flowcontrol.apiserver.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration"
 },
 {
  "name": "prioritylevelconfigurations/status",
  "singularName": "",
  "namespaced": false,
  "kind": "PriorityLevelConfiguration",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "flowcontrol.apiserver.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration"
 },
 {
  "name": "ingressclasses",
  "singularName": "ingressclass",
  "namespaced": false,
  "kind": "IngressClass",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "networking.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.networking.v1.IngressClass"
 },
 {
  "name": "ingresses",
  "singularName": "ingress",
  "namespaced": true,
  "kind": "Ingress",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "ing"
  ],
  "group": "networking.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.networking.v1.Ingress"
 },
 {
  "name": "ingresses/status",
  "singularName": "",
  "namespaced": true,
  "kind": "Ingress",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "networking.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.networking.v1.Ingress"
 },
 {
  "name": "ipaddresses",
  "singularName": "ipaddress",
  "namespaced": false,
  "kind": "IPAddress",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "ip"
  ],
  "group": "networking.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.networking.v1.IPAddress"
 },
 {
  "name": "networkpolicies",
  "singularName": "networkpolicy",
  "namespaced": true,
  "kind": "NetworkPolicy",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "netpol"
  ],
  "group": "networking.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.networking.v1.NetworkPolicy"
 },
 {
  "name": "servicecidrs",
  "singularName": "servicecidr",
  "namespaced": false,
  "kind": "ServiceCIDR",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "networking.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.networking.v1.ServiceCIDR"
 },
 {
  "name": "servicecidrs/status",
  "singularName": "",
  "namespaced": false,
  "kind": "ServiceCIDR",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "networking.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.networking.v1.ServiceCIDR"
 },
 {
  "name": "runtimeclasses",
  "singularName": "runtimeclass",
  "namespaced": false,
  "kind": "RuntimeClass",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "node.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.node.v1.RuntimeClass"
 },
 {
  "name": "poddisruptionbudgets",
  "singularName": "poddisruptionbudget",
  "namespaced": true,
  "kind": "PodDisruptionBudget",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "pdb"
  ],
  "group": "policy",
  "version": "v1",
  "type": "io.k8s.api.policy.v1.PodDisruptionBudget"
 },
 {
  "name": "poddisruptionbudgets/status",
  "singularName": "",
  "namespaced": true,
  "kind": "PodDisruptionBudget",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "policy",
  "version": "v1",
  "type": "io.k8s.api.policy.v1.PodDisruptionBudget"
 },
 {
  "name": "clusterrolebindings",
  "singularName": "clusterrolebinding",
  "namespaced": false,
  "kind": "ClusterRoleBinding",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "rbac.authorization.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.rbac.v1.ClusterRoleBinding"
 },
 {
  "name": "clusterroles",
  "singularName": "clusterrole",
  "namespaced": false,
  "kind": "ClusterRole",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "rbac.authorization.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.rbac.v1.ClusterRole"
 },
 {
  "name": "rolebindings",
  "singularName": "rolebinding",
  "namespaced": true,
  "kind": "RoleBinding",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "rbac.authorization.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.rbac.v1.RoleBinding"
 },
 {
  "name": "roles",
  "singularName": "role",
  "namespaced": true,
  "kind": "Role",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "rbac.authorization.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.rbac.v1.Role"
 },
 {
  "name": "deviceclasses",
  "singularName": "deviceclass",
  "namespaced": false,
  "kind": "DeviceClass",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "resource.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.resource.v1.DeviceClass"
 },
 {
  "name": "resourceclaims",
  "singularName": "resourceclaim",
  "namespaced": true,
  "kind": "ResourceClaim",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "resource.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.resource.v1.ResourceClaim"
 },
 {
  "name": "resourceclaims/status",
  "singularName": "",
  "namespaced": true,
  "kind": "ResourceClaim",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "resource.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.resource.v1.ResourceClaim"
 },
 {
  "name": "resourceclaimtemplates",
  "singularName": "resourceclaimtemplate",
  "namespaced": true,
  "kind": "ResourceClaimTemplate",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "resource.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.resource.v1.ResourceClaimTemplate"
 },
 {
  "name": "resourceslices",
  "singularName": "resourceslice",
  "namespaced": false,
  "kind": "ResourceSlice",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "resource.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.resource.v1.ResourceSlice"
 },
 {
  "name": "priorityclasses",
  "singularName": "priorityclass",
  "namespaced": false,
  "kind": "PriorityClass",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "pc"
  ],
  "group": "scheduling.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.scheduling.v1.PriorityClass"
 },
 {
  "name": "csidrivers",
  "singularName": "csidriver",
  "namespaced": false,
  "kind": "CSIDriver",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "storage.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.storage.v1.CSIDriver"
 },
 {
  "name": "csinodes",
  "singularName": "csinode",
  "namespaced": false,
  "kind": "CSINode",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "storage.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.storage.v1.CSINode"
 },
 {
  "name": "csistoragecapacities",
  "singularName": "csistoragecapacity",
  "namespaced": true,
  "kind": "CSIStorageCapacity",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "storage.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.storage.v1.CSIStorageCapacity"
 },
 {
  "name": "storageclasses",
  "singularName": "storageclass",
  "namespaced": false,
  "kind": "StorageClass",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "sc"
  ],
  "group": "storage.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.storage.v1.StorageClass"
 },
 {
  "name": "volumeattachments",
  "singularName": "volumeattachment",
  "namespaced": false,
  "kind": "VolumeAttachment",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "storage.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.storage.v1.VolumeAttachment"
 },
 {
  "name": "volumeattachments/status",
  "singularName": "",
  "namespaced": false,
  "kind": "VolumeAttachment",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "storage.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.storage.v1.VolumeAttachment"
 },
 {
  "name": "volumeattributesclasses",
  "singularName": "volumeattributesclass",
  "namespaced": false,
  "kind": "VolumeAttributesClass",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "shortNames": [
   "vac"
  ],
  "group": "storage.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.storage.v1.VolumeAttributesClass"
 },
 {
  "name": "storageversionmigrations",
  "singularName": "storageversionmigration",
  "namespaced": false,
  "kind": "StorageVersionMigration",
  "verbs": [
   "create",
   "delete",
   "deletecollection",
   "get",
   "list",
   "patch",
   "update",
   "watch"
  ],
  "group": "storagemigration.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.storagemigration.v1.StorageVersionMigration"
 },
 {
  "name": "storageversionmigrations/status",
  "singularName": "",
  "namespaced": false,
  "kind": "StorageVersionMigration",
  "verbs": [
   "get",
   "patch",
   "update"
  ],
  "group": "storagemigration.k8s.io",
  "version": "v1",
  "type": "io.k8s.api.storagemigration.v1.StorageVersionMigration"
 }
]
