// SPDX-License-Identifier: Apache-2.0
// What other packages may use to parse plain values and to suggest the intended word.

export { durationMilliseconds } from "./duration.js"
export { nearest } from "./nearest.js"
export * from "./shape.js"
