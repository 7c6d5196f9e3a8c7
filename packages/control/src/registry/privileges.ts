// SPDX-License-Identifier: Apache-2.0
// Privileges with which a container of a Pod could disable or imitate its proxy: over the Pod's network or other
// processes, or the proxy's own user. Admission rejects such Pods where injection is required, and the status of
// policies always names them.

import type { MeshNames } from "@merlon/policy/mesh"
import { xserverContainer } from "./application-ports.js"
import { type Foreign, listOf, objectOf, textOf } from "./foreign.js"

/** The user that xserver runs as. */
export const XSERVER_UID = 1337

/**
 * With these, a process can remove the rules that redirect connections to xserver, or change xserver itself. NET_RAW is
 * not included: container runtimes grant it by default, and a raw socket opens no port.
 */
const CAPABILITIES: ReadonlySet<string> = new Set(["ALL", "BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE"])

export function initContainer({ mesh }: MeshNames): string {
  return `${mesh}-init`
}

export function outboundContainer({ mesh }: MeshNames): string {
  return `${mesh}-xclient`
}

/** The privilege in one phrase, with the container; undefined if no container has one. */
export function bypassingPrivilege(podSpec: unknown, names: MeshNames): string | undefined {
  const { hostNetwork, securityContext, containers, initContainers, ephemeralContainers } = objectOf(podSpec)
  if (hostNetwork === true) return "it is on the node's network, where xserver cannot protect it"
  const podUser = objectOf(securityContext).runAsUser
  for (const list of [initContainers, containers, ephemeralContainers]) {
    for (const container of listOf(list).map(objectOf)) {
      // Only among the init containers is it certain to have ended before the application starts.
      if (list === initContainers && isCapture(container, names)) continue
      const right = rightOf(container, podUser, names)
      if (right !== undefined) return `the container \`${textOf(container.name) ?? ""}\` ${right}`
    }
  }
  return undefined
}

function rightOf(container: Foreign, podUser: unknown, names: MeshNames): string | undefined {
  const { privileged, capabilities, runAsUser = podUser } = objectOf(container.securityContext)
  if (privileged === true) return "is privileged"
  const added = listOf(objectOf(capabilities).add).map(name => String(name).toUpperCase().replace(/^CAP_/, ""))
  const capability = added.find(name => CAPABILITIES.has(name))
  if (capability !== undefined) return `has the capability ${capability}`
  const isOurs = container.name === xserverContainer(names) || container.name === outboundContainer(names)
  return runAsUser === XSERVER_UID && !isOurs ? `runs as xserver's user ${XSERVER_UID}` : undefined
}

/** Whether this is the init container that sets up the rules and does nothing else: it needs NET_ADMIN for that. */
export function isCapture({ name, args, command, restartPolicy, securityContext }: Foreign, names: MeshNames): boolean {
  if (name !== initContainer(names) || restartPolicy !== undefined || objectOf(securityContext).privileged === true) {
    return false
  }
  return command === undefined && listOf(args)[0] === "capture"
}
