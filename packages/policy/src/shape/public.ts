// SPDX-License-Identifier: Apache-2.0
// What other packages may use to read plain values, and to suggest the word that was meant.

export { durationMilliseconds } from "./duration.js"
export { nearest } from "./nearest.js"
export * from "./shape.js"
