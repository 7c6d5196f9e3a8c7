// SPDX-License-Identifier: Apache-2.0
// The host and port to check: from the flags, otherwise the only Service in the environment. Kubernetes gives Pods
// variables such as `WEB_SERVICE_HOST`; the Service's name is in the variable's name, its value is only an address.

import { parseIp } from "@merlon/policy/request"
import { parseAuthority } from "../routes/authority.js"

export interface Target {
  readonly host: string
  readonly port: number
}

export interface TargetArguments {
  /** `web`, `web.app`, the full name, or any of them with `:port`. */
  readonly host?: string | undefined
  readonly port?: number | undefined
}

type Environment = { readonly [name: string]: string | undefined }

const DEFAULT_PORT = 80
const SERVICE_HOST = /^([A-Z][A-Z0-9_]*)_SERVICE_HOST$/
const PLATFORM = "KUBERNETES"

/** Throws if the target is missing or ambiguous. */
export function targetOf(words: TargetArguments, environment: Environment, mesh: string): Target {
  const host = words.host ?? namedByMesh(environment, mesh)
  if (host === undefined) return onlyService(words, environment)
  const authority = parseAuthority(host)
  if (authority === undefined)
    throw new Error(`\`${host}\` is not a host; write for example \`web\`, \`web.app\` or \`web:80\``)
  if (words.port !== undefined && authority.port !== undefined && words.port !== authority.port) {
    throw new Error(`\`${host}\` and the port ${words.port} differ; pass the port once`)
  }
  const fromMesh = words.host === undefined ? portIn(environment[`${prefixOf(mesh)}_SERVICE_PORT`]) : undefined
  return { host: authority.host, port: words.port ?? authority.port ?? fromMesh ?? DEFAULT_PORT }
}

function namedByMesh(environment: Environment, mesh: string): string | undefined {
  const value = environment[`${prefixOf(mesh)}_SERVICE_HOST`]
  // An address here comes from Kubernetes, for a Service that has the same name as the mesh.
  return value === undefined || value === "" || parseIp(value) !== undefined ? undefined : value
}

function onlyService({ port }: TargetArguments, environment: Environment): Target {
  const services = Object.keys(environment).flatMap(name => {
    const prefix = SERVICE_HOST.exec(name)?.[1]
    const servicePort = prefix === undefined ? undefined : portIn(environment[`${prefix}_SERVICE_PORT`])
    if (prefix === undefined || prefix === PLATFORM || servicePort === undefined) return []
    return [{ host: prefix.toLowerCase().replaceAll("_", "-"), port: servicePort }]
  })
  const [first] = services
  if (first === undefined) throw new Error("no host to call; pass `--host web` or `--host web.app --port 8080`")
  if (services.length > 1) {
    const names = services.map(({ host }) => `\`${host}\``).sort()
    throw new Error(`the environment has several Services (${names.join(", ")}); choose one with \`--host\``)
  }
  return { host: first.host, port: port ?? first.port }
}

function portIn(text: string | undefined): number | undefined {
  const port = /^\d{1,5}$/.test(text ?? "") ? Number(text) : 0
  return port >= 1 && port <= 65_535 ? port : undefined
}

function prefixOf(mesh: string): string {
  return mesh.toUpperCase().replaceAll("-", "_")
}
