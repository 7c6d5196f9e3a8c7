// SPDX-License-Identifier: Apache-2.0
// Turns flags or an entry of a file into a run: checks names and fills in defaults.

import { isIP } from "node:net"
import { CommandError } from "../../ctl/exit.js"
import type { RunProbe, RunSpec } from "./run-spec.js"

export interface RunRequest {
  readonly namespace: string
  readonly name: string
  readonly port: number
  readonly protocol: string
  readonly labels: { readonly [name: string]: string }
  readonly replicas: number
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: { readonly [name: string]: string }
  readonly probe: RunProbe
  readonly serviceAccount?: string
  readonly servicePort?: number
  /** The ingress port. */
  readonly expose?: number
  readonly listensOn?: string
}

/** A DNS label, short enough for a dash and the number of an instance. */
const LABEL = /^[a-z]([-a-z0-9]{0,57}[a-z0-9])?$/

export function checkRunName(name: string, namespace: string): void {
  for (const [what, word] of [
    ["name", name],
    ["namespace", namespace],
  ] as const) {
    if (!LABEL.test(word)) {
      throw new CommandError(
        "usage",
        `\`${word}\` cannot be a ${what}; use small letters, digits and hyphens, as \`web-v2\``,
      )
    }
  }
}

export function runSpec(request: RunRequest): RunSpec {
  const { namespace, name, port, protocol, replicas, command, cwd, env, probe, expose, listensOn } = request
  if (listensOn !== undefined && isIP(listensOn) === 0) {
    throw new CommandError("usage", `\`${listensOn}\` is no address; write one as 127.0.0.1`)
  }
  if (listensOn !== undefined && replicas > 1) {
    throw new CommandError(
      "usage",
      "several replicas cannot listen at one address; let them listen where HOST and PORT say",
    )
  }
  const app = request.labels.app ?? name
  return {
    namespace,
    name,
    port,
    protocol,
    labels: { ...request.labels, app },
    serviceAccount: request.serviceAccount ?? app,
    replicas,
    command,
    cwd,
    env,
    ...(listensOn === undefined ? {} : { listensOn }),
    ...(expose === undefined ? {} : { wayIn: expose }),
    servicePort: request.servicePort ?? port,
    probe,
  }
}
