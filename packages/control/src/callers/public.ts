// SPDX-License-Identifier: Apache-2.0
// What other packages may use of who may call the control plane.

export { invitationAudience } from "./invitations.js"
