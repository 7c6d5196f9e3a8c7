// SPDX-License-Identifier: Apache-2.0
// What tests of other packages may use. Never built: only tests resolve it, from source.

export { mutated, requestText } from "../http1/testing/messages.js"
export { eventually, sourceOf, type Wait } from "./eventually.js"
