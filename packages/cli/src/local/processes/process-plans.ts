// SPDX-License-Identifier: Apache-2.0
// The program and arguments of each process of a local mesh.

import { USUAL } from "../layout/choose-places.js"
import { serviceEnvironment } from "../layout/service-environment.js"
import { type ControlPlanePorts, logPath } from "../record/mesh-record.js"
import type { Membership } from "../runs/join-workload.js"
import { withPlace } from "../runs/run-spec.js"
import { childEnvironment } from "./child-environment.js"
import type { ProcessPlan } from "./process-set.js"
import type { Programs } from "./programs.js"
import { withProxyEnvironment } from "./proxy-environment.js"

export const CONTROL_PLANE = "control-plane"

export type Part = "app" | "xserver"

export function processName({ namespace, name }: { namespace: string; name: string }, part: Part): string {
  return `${namespace}.${name}.${part}`
}

interface ControlPlaneParts {
  readonly data: string
  readonly mesh: string
  readonly domain: string
  readonly programs: Programs
  readonly ports: ControlPlanePorts
  readonly meshListen?: string | undefined
}

export function controlPlanePlan({ data, mesh, domain, programs, ports, meshListen }: ControlPlaneParts): ProcessPlan {
  return {
    name: CONTROL_PLANE,
    launch: programs.merlond([
      "serve",
      "--embedded",
      // Everything runs on this machine, including the issuers of samples and of the user's own trials.
      "--allow-loopback-issuers",
      // Proofs are slow on a busy machine, and "not decided" would then be about the machine and not the policy.
      "--proof-budget",
      "2000",
      ...["--data", data, "--mesh", mesh, "--domain", domain],
      ...(meshListen === undefined ? [] : ["--mesh-listen", meshListen]),
      ...["--api-port", String(ports.api), "--mesh-port", String(ports.mesh)],
      ...["--webhook-port", String(ports.webhook), "--health-port", String(ports.health)],
      ...(ports.console === undefined ? ["--no-console"] : ["--console-port", String(ports.console)]),
    ]),
    env: childEnvironment(process.env),
    log: logPath(data, CONTROL_PLANE),
  }
}

interface MemberParts extends Membership {
  readonly mesh: string
  readonly bootstrap: string
  readonly data: string
  readonly programs: Programs
}

export function applicationPlan(member: MemberParts): ProcessPlan {
  const { instance, place, data, programs } = member
  const name = processName(instance, "app")
  const { application } = instance
  const common = { name, log: logPath(data, name) }
  if (application.kind === "caller") {
    const env = childEnvironment(process.env, memberEnvironment(member))
    return { ...common, launch: programs.merlond(application.args), env }
  }
  if (application.kind === "command") {
    const { spec } = application
    const host = spec.listensOn ?? place.address
    const env = childEnvironment(process.env, {
      ...memberEnvironment(member),
      ...spec.env,
      HOST: host,
      PORT: String(spec.port),
    })
    const launch = programs.merlond(["hold", "--folder", spec.cwd, "--", ...withPlace(spec.command, host, spec.port)])
    return { ...common, launch, env: withProxyEnvironment(env, place) }
  }
  const { program, version, args: own = [] } = application
  const args = [...own, "--host", place.address, "--port", String(place.application), "--version", version]
  const env = withProxyEnvironment(childEnvironment(process.env), place)
  return { ...common, launch: programs.sample(program, args), env }
}

/** The external client of the shop. It has no proxy: it calls from outside the mesh, in plaintext. */
export function visitorPlan({ place, data, programs }: Pick<MemberParts, "place" | "data" | "programs">): ProcessPlan {
  const name = "shop.visitor"
  const target = `http://${place.address}:${place.xserver}`
  return {
    name,
    launch: programs.sample("shop", ["visitor", target]),
    env: childEnvironment(process.env),
    log: logPath(data, name),
  }
}

export function proxyPlan({ instance, place, bootstrap, data, programs }: MemberParts): ProcessPlan {
  const name = processName(instance, "xserver")
  return {
    name,
    launch: programs.merlond([
      "proxy",
      ...["--bootstrap", bootstrap, "--http-proxy", `${place.address}:${place.outbound ?? USUAL.outbound}`],
      ...["--admin", `${place.address}:${place.admin}`, "--health", `${place.address}:${place.health}`],
    ]),
    env: childEnvironment(process.env),
    log: logPath(data, name),
  }
}

/** The environment of a program in a workload, as in a Pod. */
export function memberEnvironment(member: {
  readonly mesh: string
  readonly instance: { readonly namespace: string; readonly name: string; readonly serviceAccount: string }
  readonly place: { readonly address: string }
  readonly bootstrap: string
}): NodeJS.ProcessEnv {
  const { mesh, instance, place, bootstrap } = member
  return {
    ...serviceEnvironment(mesh, instance.namespace),
    MERLON_BOOTSTRAP: bootstrap,
    POD_NAME: instance.name,
    POD_NAMESPACE: instance.namespace,
    POD_IP: place.address,
    SERVICE_ACCOUNT: instance.serviceAccount,
  }
}
