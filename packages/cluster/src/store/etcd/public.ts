// SPDX-License-Identifier: Apache-2.0
// Exports to store objects in etcd instead of the embedded store, configured by command-line flags or options.

export { etcdOptions } from "./flags.js"
export { type EtcdOptions, openEtcdStore } from "./open.js"
