// SPDX-License-Identifier: Apache-2.0
// Checks a PeerAuthentication beyond its schema. Modes per port are valid for workloads only, because a port number has
// no meaning across a namespace.

import type { MeshNames } from "../../mesh/names.js"
import { shown } from "../document-error.js"
import type { Field } from "../field.js"
import { checkScope } from "../targets.js"

export function checkPeerAuthentication(spec: Field, document: Field, names: MeshNames): void {
  const selector = spec.field("selector")
  checkScope(spec, "services")
  const hasLabels = selector.field("matchLabels").entries.length > 0
  const ports = spec.field("portLevelMtls")
  if (ports.present && !hasLabels && !spec.field("targetRefs").present) {
    ports.error(
      "conflict",
      "mesh/namespace peer authentication cannot have port level mTLS: portLevelMtls requires selector",
      "add `selector.matchLabels` or `targetRefs`, or move the mode to `mtls.mode`",
    )
  }
  for (const [port, field] of ports.entries) {
    if (isPort(port)) continue
    field.error(
      "bad-value",
      `port must be in range 1..65535, found \`${shown(port)}\``,
      'write the workload port as a quoted number, for example `"8080"`',
    )
  }
  if (hasLabels && document.field("metadata").field("namespace").text === names.rootNamespace) {
    selector.warn(
      "ignored-policy",
      `a PeerAuthentication with a selector has no effect in the root namespace \`${names.rootNamespace}\``,
      "move it to the workloads' namespace, or remove the selector to make it mesh-wide",
    )
  }
}

/** As people write port numbers: decimal, without a sign or leading zeros. */
function isPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535
}
