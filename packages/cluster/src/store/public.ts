// SPDX-License-Identifier: Apache-2.0
// What other packages may use of the stores: the interface, and repairing an embedded store.

/** Keeps what can be read of a damaged embedded store. */
export { repairEmbeddedStore } from "./embedded/repair.js"
/** What a store of one's own has to promise; store/conformance.test.ts holds any to it. */
export type { Store } from "./store.js"
