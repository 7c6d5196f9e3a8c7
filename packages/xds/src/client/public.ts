// SPDX-License-Identifier: Apache-2.0
// What other packages may use of the client: connecting to a control plane, and enrolling a workload there.

export { Enrolment } from "../member/enrolment.js"
export type { WorkloadCredentials } from "../member/workload-credentials.js"
export { MeshCallError } from "./call-error.js"
export { LastSession } from "./last-session.js"
export { MeshClient } from "./mesh-client.js"
export type { MeshClientOptions, Proof, Subscription, Update } from "./options.js"
