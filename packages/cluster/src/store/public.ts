// SPDX-License-Identifier: Apache-2.0
// Exports of the stores for other packages: the interface, and the repair of an embedded store.

/** Recovers what can be read of a damaged embedded store. */
export { repairEmbeddedStore } from "./embedded/repair.js"
/** The interface that every store implements; store/conformance.test.ts tests it. */
export type { Store } from "./store.js"
