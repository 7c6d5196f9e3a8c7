// SPDX-License-Identifier: Apache-2.0
// Decides how a Pod's outbound calls are handled: unchanged, through `http_proxy`, or captured by rules in the Pod. The
// Pod's annotation decides, else the mesh's setting.

import type { CaptureFlags } from "../registry/capture-args.js"
import { type Foreign, listOf, objectOf } from "../registry/foreign.js"
import { type InjectionOptions, injectionNames, OUTBOUND_PORT } from "./injection-options.js"
import { parseCidrList, parsePortList } from "./outbound-capture.js"

export interface OutboundChoice {
  readonly way: "direct" | "proxy" | "capture"
  /** Flags of the capture container. */
  readonly flags: CaptureFlags
  readonly warnings: readonly string[]
}

/** Returns a string with the reason if the Pod is rejected. */
export function outboundOf(annotations: Foreign, podSpec: unknown, options: InjectionOptions): OutboundChoice | string {
  const { annotations: keys } = injectionNames(options.names)
  const { [keys.outbound]: own } = annotations
  if (own !== undefined && own !== "true" && own !== "false" && own !== "capture") {
    return `the annotation \`${keys.outbound}\` must be \`capture\`, \`"true"\` or \`"false"\`; it is \`${JSON.stringify(own)}\``
  }
  const limits = {
    "--exclude-outbound-ports": keys.excludePorts,
    "--exclude-outbound-cidrs": keys.excludeCidrs,
    "--include-outbound-cidrs": keys.includeCidrs,
  } as const
  const flags: Record<string, string> = {}
  for (const [flag, key] of Object.entries(limits)) {
    const { [key]: value } = annotations
    if (value === undefined) continue
    // The API server accepts only strings; a document that it has not seen may contain a number.
    const text = typeof value === "string" ? value : JSON.stringify(value)
    const list = flag === "--exclude-outbound-ports" ? parsePortList(text) : parseCidrList(text)
    if (typeof list === "string") return `the annotation \`${key}\`: ${list}`
    flags[flag] = text
  }
  const wanted = own === "capture" || (own === undefined && options.outbound === "capture")
  const obstacle = wanted ? obstacleOf(podSpec, options) : undefined
  if (wanted && obstacle === undefined) {
    return { way: "capture", flags: { ...flags, "--outbound": String(OUTBOUND_PORT) }, warnings: [] }
  }
  const way = own === "true" ? "proxy" : "direct"
  const unused = Object.values(limits).filter(key => annotations[key] !== undefined)
  return {
    way,
    flags: {},
    warnings: [
      ...(obstacle === undefined ? [] : [`outbound calls of this Pod are not captured: ${obstacle}`]),
      ...unused.map(
        key => `the annotation \`${key}\` has no effect, because outbound calls of this Pod are not captured`,
      ),
    ],
  }
}

function obstacleOf(podSpec: unknown, { capture, nativeSidecar, names }: InjectionOptions): string | undefined {
  const { outbound } = injectionNames(names).annotations
  if (capture === "service") {
    return `its namespace is captured by Service, without rules in the Pod; set \`${outbound}: "true"\` to give its programs an \`http_proxy\``
  }
  if (nativeSidecar) return undefined
  // If our proxy is not a native sidecar, capture has to follow the application's init containers, which run before the
  // proxy. Connections of the author's own native sidecar would then not be captured.
  const early = listOf(objectOf(podSpec).initContainers)
    .map(objectOf)
    .find(({ restartPolicy }) => restartPolicy === "Always")
  return early === undefined
    ? undefined
    : `the native sidecar \`${String(early.name)}\` would start before the rules; install with \`sidecar: native\``
}
