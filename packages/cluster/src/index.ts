// SPDX-License-Identifier: Apache-2.0
//
// A Kubernetes-compatible API server for one machine, or several on a shared store.

export { type Cluster, type ClusterOptions, startCluster } from "./cluster.js"
export { ClusterError, type ClusterErrorCode, clusterErrors } from "./errors.js"
export { defaultLimits, type Limits } from "./http/limits.js"
export { etcdOptions } from "./store/etcd/flags.js"
export { type EtcdOptions, openEtcdStore } from "./store/etcd/open.js"
export type { Compare, Entry, RangeRequest, RangeResult, Store, StoreEvent, Watch, Write } from "./store/store.js"
