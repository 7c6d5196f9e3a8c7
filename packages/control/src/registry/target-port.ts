// SPDX-License-Identifier: Apache-2.0
// Resolves the target port of a Service's port to a port of a workload.

import type { ServicePort } from "./mesh-directory.js"

interface Port {
  readonly port: number
  readonly name: string | undefined
  readonly listen: number
}

/** Undefined if the workload has no such port. */
export function targetPortOf<P extends Port>(ports: readonly P[], { targetPort }: ServicePort): P | undefined {
  if (typeof targetPort === "string") return ports.find(({ name }) => name === targetPort)
  const own = ports.find(({ port }) => port === targetPort)
  // With capture by Service, the Service already targets xserver's port.
  return own ?? ports.find(({ listen }) => listen === targetPort)
}
