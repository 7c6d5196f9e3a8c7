// SPDX-License-Identifier: Apache-2.0
// The line below the name of a service: how many Pods it has, and how its callers come.

import type { Edge } from "./edges.js"
import type { Services } from "./services.js"

export function aboutService(service: string, services: Services, edges: readonly Edge[]): string {
  const pods = services.podsOf(service).length
  const incoming = edges.filter(({ to }) => to === service)
  const transport = incoming.length === 0 ? undefined : incoming.every(({ isMtls }) => isMtls) ? "mTLS" : "plaintext"
  return [...(pods === 0 ? [] : [`${pods} ${pods === 1 ? "pod" : "pods"}`]), ...(transport ? [transport] : [])].join(
    " · ",
  )
}
