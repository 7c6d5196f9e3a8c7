// SPDX-License-Identifier: Apache-2.0
// What other packages may use of admission: injecting proxies, capturing ports, and finding Pods without a proxy.

export { type CaptureChoices, type CapturedPort, iptablesRules, nftRules, parseCaptureMap } from "./capture-rules.js"
export { injectTemplate } from "./inject-template.js"
export type { InjectionOptions } from "./injection-options.js"
export { type CidrBlock, type OutboundCapture, parseCidrList, parsePortList } from "./outbound-capture.js"
export { type ProxyResources, proxyResources } from "./proxy-resources.js"
export { type UnprotectedPod, unprotectedPods } from "./unprotected-pods.js"
