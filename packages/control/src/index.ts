// SPDX-License-Identifier: Apache-2.0
// The control plane: what is stored becomes what each proxy enforces, and what became of it is told.

export { ADMISSION_ERRORS, CONTROL_ERRORS } from "./errors.js"
export type { ControlPlaneOptions } from "./options.js"
export { ControlPlane } from "./serve/control-plane.js"
