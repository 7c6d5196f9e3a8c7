// SPDX-License-Identifier: Apache-2.0
// What other packages may use to store in etcd instead of the embedded store, from command line flags or from options.

export { etcdOptions } from "./flags.js"
export { type EtcdOptions, openEtcdStore } from "./open.js"
