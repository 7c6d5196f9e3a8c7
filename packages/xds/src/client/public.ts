// SPDX-License-Identifier: Apache-2.0
// What other packages use of the client: connect to a control plane, and enroll a workload.

export { Enrolment } from "../member/enrolment.js"
export type { WorkloadCredentials } from "../member/workload-credentials.js"
export { MeshCallError } from "./call-error.js"
export { LastSession } from "./last-session.js"
export { MeshClient } from "./mesh-client.js"
export type { MeshClientOptions, Proof, Subscription, Update } from "./options.js"
