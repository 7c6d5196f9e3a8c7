// SPDX-License-Identifier: Apache-2.0
// What other packages may use to read Pods as the registry does.

export { runnerOf } from "../answers/workload-names.js"
export { applicationPorts } from "./application-ports.js"
export { isProxied } from "./pod-reading.js"
export { XSERVER_UID } from "./privileges.js"
export { udpPorts } from "./udp.js"
