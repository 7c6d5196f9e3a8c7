// SPDX-License-Identifier: Apache-2.0
// What other packages may use to select the policies of a workload, and the mTLS mode that results.

export { type EffectiveMode, type ModeResolution, type OverriddenPolicy, PeerModes, peerScope } from "../peer/mode.js"
export { WAYPOINT_CLASS } from "./istio-attachment.js"
export { select } from "./select.js"
export { isShadow } from "./shadow.js"
export { byAge, type IstioGateway, selects, targetKey, targetsBefore, type Workload } from "./workload.js"
