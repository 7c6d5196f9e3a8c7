// SPDX-License-Identifier: Apache-2.0
// Workloads of a policy that can be reached over UDP, which no policy covers because proxies only carry TCP. `Ready`
// does not depend on it: the policy does everything it can there, and a DNS server under mesh-wide STRICT would
// otherwise keep `Ready` False forever if nothing can block UDP.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { isShadow } from "@merlon/policy/selection"
import { someOf } from "../observe/one-line.js"
import type { UdpHandling } from "../registry/udp.js"
import type { ConditionInputs, ConditionValue } from "./condition-inputs.js"

const MOST_NAMED = 5

/** Undefined if no selected workload declares UDP ports, and for a policy that never denies anything. */
export function unjudgedPorts({
  document,
  mesh,
  reach,
}: Pick<ConditionInputs, "document" | "mesh" | "reach">): ConditionValue | undefined {
  if (document === undefined || reach.udp.length === 0 || !denies(document, mesh)) return undefined
  const named = (handling: UdpHandling): string => {
    const found = reach.udp.filter(({ udp }) => udp === handling)
    return someOf(
      found.map(({ key, udpPorts }) => `${key} (${udpPorts.join(", ")})`),
      found.length,
      MOST_NAMED,
    )
  }
  const [passed, unrefusable, refused] = [named("passed"), named("unrefusable"), named("refused")]
  const parts = [
    passed === "" ? "" : `every client can reach ${passed}; set \`--udp refuse\` and restart these Pods`,
    unrefusable === ""
      ? ""
      : `every client can reach ${unrefusable}, where \`--udp refuse\` has no effect; use a NetworkPolicy or a firewall`,
    refused === "" ? "" : `UDP is denied to ${refused}`,
  ].filter(part => part !== "")
  if (passed !== "" || unrefusable !== "") {
    return { status: "True", reason: "UdpNotJudged", message: `no policy judges UDP: ${parts.join("; ")}` }
  }
  return { status: "False", reason: "UdpRefused", message: parts.join("; ") }
}

/** A PeerAuthentication that inherits STRICT does not report UDP; the policy that sets STRICT does. */
function denies(document: PolicyDocument, mesh: MeshConfig): boolean {
  if (document.kind === "AuthorizationPolicy") return document.spec.action !== "AUDIT" && !isShadow(document, mesh)
  if (document.kind !== "PeerAuthentication" || isShadow(document, mesh)) return false
  const { mtls, portLevelMtls = {} } = document.spec
  return [mtls, ...Object.values(portLevelMtls)].some(port => port?.mode === "STRICT")
}
