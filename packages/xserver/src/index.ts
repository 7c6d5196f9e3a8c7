// SPDX-License-Identifier: Apache-2.0
// The public face of the gate.

export { Gate, type GateOptions } from "./enforcement/gate.js"
export { DEFAULT_LIMITS, type LimitName, type Limits } from "./limits.js"
