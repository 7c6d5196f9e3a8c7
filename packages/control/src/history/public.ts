// SPDX-License-Identifier: Apache-2.0
// What other packages may use of the history: its entries, and whether they are as they were written.

export { brokenLinks, type HistoryEntry, policyName, unrecordedChanges } from "./chain.js"
export { isEntry } from "./namespace-history.js"

/** Entries that are kept of each namespace unless the operator configures another number. */
export const HISTORY_ENTRIES = 200
