// SPDX-License-Identifier: Apache-2.0
// The control plane: turns stored policies into what each proxy enforces, and reports the result.

export { ADMISSION_ERRORS, CONTROL_ERRORS } from "./errors.js"
export type { ControlPlaneOptions } from "./options.js"
export { ControlPlane } from "./serve/control-plane.js"
