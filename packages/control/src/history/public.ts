// SPDX-License-Identifier: Apache-2.0
// What other packages may use of the history: its entries, and how to verify them.

export { brokenLinks, type CertificateNote, type HistoryEntry, policyName, unrecordedChanges } from "./chain.js"
export { isEntry } from "./namespace-history.js"

/** Default for the number of entries kept per namespace. */
export const HISTORY_ENTRIES = 200
