// SPDX-License-Identifier: Apache-2.0
// PeerAuthentication: whether a workload's ports accept mTLS, plaintext or both. The narrowest scope that sets a mode
// wins.

import { enforcement, formerTarget, oneScope, selector, serviceTargetRefs } from "../common.js"
import { choice, closed, optional, record, type TypeOf } from "../schema.js"

const mtlsMode = choice(["UNSET", "DISABLE", "PERMISSIVE", "STRICT"], {
  description:
    "`STRICT` takes mTLS only, `PERMISSIVE` mTLS and plaintext, `DISABLE` plaintext only; `UNSET` inherits from the wider scope, PERMISSIVE at last.",
})

const mtls = closed(
  { mode: optional(mtlsMode) },
  { description: "The mode of every port not named in `portLevelMtls`." },
)

export const peerAuthenticationSpec = closed(
  {
    selector: optional(selector),
    targetRefs: optional(serviceTargetRefs),
    enforcement: optional(enforcement),
    mtls: optional(mtls),
    portLevelMtls: optional(
      record(closed({ mode: optional(mtlsMode) }, { description: "The mode of this port." }), {
        description:
          "Modes by workload port (the container's, not the Service's). Needs a selector with labels, or `targetRefs`.",
        minProperties: 1,
        maxProperties: 1024,
        "x-problem": { minProperties: "port level mTLS, if defined, must have at least one element" },
        "x-fix": 'name a port, for example `portLevelMtls: {"8080": {mode: DISABLE}}`, or remove the field',
        "x-kubernetes-validations": [
          {
            rule: "self.all(key, 0 < int(key) && int(key) <= 65535)",
            message: "port must be between 1-65535",
          },
        ],
      }),
    ),
  },
  {
    description: "Which connections a workload takes.",
    "x-rejected": formerTarget,
    "x-kubernetes-validations": [
      oneScope,
      {
        rule: "!has(self.portLevelMtls) || has(self.targetRefs) || (has(self.selector) && has(self.selector.matchLabels) && self.selector.matchLabels.size() > 0)",
        message: "portLevelMtls requires selector",
      },
    ],
  },
)

export type MtlsMode = TypeOf<typeof mtlsMode>
export type PeerAuthenticationSpec = TypeOf<typeof peerAuthenticationSpec>
