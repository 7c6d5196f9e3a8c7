// SPDX-License-Identifier: Apache-2.0
// The key of reusable connections: the endpoint, its transport and the expected identities.

import { createHash } from "node:crypto"
import type { ServiceEndpoint } from "@merlon/xds"
import type { TransportPlan } from "./transport-plan.js"

export function connectionKey({ address, otherAddresses = [], port }: ServiceEndpoint, plan: TransportPlan): string {
  const where = [address, ...otherAddresses, port].join(" ")
  if (plan.kind === "plaintext") return `plaintext ${where}`
  const expected = createHash("sha256")
    .update(JSON.stringify([plan.sni, plan.identities]))
    .digest("base64")
  return `mutual ${where} ${expected}`
}
