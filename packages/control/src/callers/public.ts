// SPDX-License-Identifier: Apache-2.0
// What other packages may use to identify callers of the control plane.

export { invitationAudience } from "./invitations.js"
