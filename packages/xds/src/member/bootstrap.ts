// SPDX-License-Identifier: Apache-2.0
// What a proxy needs to join a mesh: its identity, the control plane's address, and how each authenticates the other.
// The injector writes it for Pods, `workload add` for everything else. `${NAME}` is replaced by an environment
// variable, because a Pod's name is not known when its template is written.

import { isIP } from "node:net"
import { dirname, resolve } from "node:path"
import { type MeshNames, meshNames } from "@merlon/policy/mesh"
import { choice, list, optional, orElse, type Read, settings, someText, whole, wrong } from "@merlon/policy/shape"
import { parse } from "yaml"
import { messageOf } from "../runtime/log.js"
import { readUtf8File } from "../runtime/utf8-file.js"
import { ConfigurationError, readSettings } from "./configuration-error.js"

export interface Bootstrap {
  readonly names: MeshNames
  readonly controlPlane: { readonly address: string; readonly serverName: string }
  readonly workload: { readonly namespace: string; readonly name: string; readonly serviceAccount: string }
  /** File with the roots that may have issued the control plane's certificate. */
  readonly trustBundle: string
  /** File with the workload's service-account token; read again whenever it is needed. */
  readonly token: string
  /** The address at which others reach the workload; by default the control plane uses the connection's address. */
  readonly address: string | undefined
  /** The address on which xserver listens. */
  readonly listen: string
  /** The application's address. */
  readonly application: string
  /** Other addresses of the application, tried in this order if the first refuses the connection. */
  readonly applicationFallback?: readonly string[]
  /** HOST:PORT of the admin and the health endpoint, if they differ from the defaults. */
  readonly admin?: string | undefined
  readonly health?: string | undefined
  /** The probe of the application's readiness; without it, the application counts as ready when its proxy is. */
  readonly probe?: ApplicationProbe | undefined
  /** Folder for the last good state. */
  readonly state: string | undefined
}

export type ApplicationProbe = ProbeQuestion & { readonly periodSeconds: number; readonly timeoutSeconds: number }

type ProbeQuestion =
  | { readonly kind: "http"; readonly port: number; readonly path: string }
  | { readonly kind: "tcp"; readonly port: number }
  | { readonly kind: "command"; readonly command: readonly string[] }

type Environment = { readonly [name: string]: string | undefined }

const PLACEHOLDER = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g
const MAX_BYTES = 65_536

const hostAndPort: Read<string> = (value, path) => {
  const port = Number(/^(?:\[[0-9a-fA-F:]+\]|[^:\s]+):(\d{1,5})$/.exec(someText(value, path))?.[1])
  if (port >= 1 && port <= 65_535) return someText(value, path)
  throw wrong(path, "must have the form HOST:PORT, such as `127.0.0.1:15012`", value)
}

/** Separated by commas, as Kubernetes formats the addresses of a Pod. */
const addresses: Read<readonly string[]> = (value, path) => {
  const list = someText(value, path).split(",")
  if (list.every(address => isIP(address) !== 0)) return list
  throw wrong(path, "must be addresses, such as `::1,10.0.0.7`", value)
}

const probeSettings = settings({
  kind: orElse(choice("http", "tcp", "command"), "tcp"),
  periodSeconds: orElse(whole(1, 3_600), 5),
  timeoutSeconds: orElse(whole(1, 300), 2),
  command: orElse(list(1_024, someText), []),
  port: optional(whole(1, 65_535)),
  path: orElse(someText, "/"),
})

const probe: Read<ApplicationProbe> = (value, at) => {
  const { kind, command, port, path, ...times } = probeSettings(value, at)
  if (kind === "command") {
    if (command.length === 0) throw wrong(`${at}.command`, "must name a program, such as `[pg_isready]`", command)
    return { kind, command, ...times }
  }
  const asked = whole(1, 65_535)(port, `${at}.port`)
  return kind === "tcp" ? { kind, port: asked, ...times } : { kind, port: asked, path, ...times }
}

const file = settings({
  mesh: settings({ name: orElse(someText, "merlon"), domain: orElse(someText, "merlon.dev") }),
  controlPlane: settings({ address: hostAndPort, serverName: optional(someText) }),
  workload: settings({ namespace: someText, name: someText, serviceAccount: orElse(someText, "default") }),
  trustBundle: someText,
  token: someText,
  address: optional(someText),
  listen: orElse(someText, "::"),
  application: orElse(someText, "127.0.0.1"),
  applicationFallback: orElse(addresses, []),
  probe: optional(probe),
  admin: optional(hostAndPort),
  health: optional(hostAndPort),
  state: optional(someText),
})

export function readBootstrap(path: string, environment: Environment): Bootstrap {
  const folder = dirname(resolve(path))
  const { mesh, controlPlane, trustBundle, token, state, ...others } = readSettings(parseFile(path, environment), file)
  const names = meshNames({ mesh: mesh.name, domain: mesh.domain })
  return {
    ...others,
    names,
    address: others.address,
    controlPlane: {
      address: controlPlane.address,
      serverName: controlPlane.serverName ?? `${names.mesh}d.${names.rootNamespace}.svc`,
    },
    trustBundle: resolve(folder, trustBundle),
    token: resolve(folder, token),
    state: state === undefined ? undefined : resolve(folder, state),
  }
}

function parseFile(path: string, environment: Environment): unknown {
  let text: string
  try {
    text = readUtf8File(path)
  } catch (error) {
    throw new ConfigurationError("config-unreadable", `cannot read \`${path}\`: ${messageOf(error)}`)
  }
  if (text.length > MAX_BYTES)
    throw new ConfigurationError("config-unreadable", `${path}: a bootstrap has at most ${MAX_BYTES} characters`)
  try {
    // Expanded after parsing, so that environment variables cannot change the document's structure.
    return expand(parse(text), environment)
  } catch (error) {
    throw new ConfigurationError(
      error instanceof ConfigurationError ? error.code : "config-unreadable",
      `${path}: ${messageOf(error)}`,
    )
  }
}

function expand(value: unknown, environment: Environment): unknown {
  if (typeof value === "string") return value.replace(PLACEHOLDER, (_, name: string) => variable(name, environment))
  if (Array.isArray(value)) return value.map(item => expand(item, environment))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item, environment)]))
}

function variable(name: string, environment: Environment): string {
  const value = environment[name]
  if (value === undefined)
    throw new ConfigurationError("config-variable", `the environment has no \`${name}\`; set it, or write the value`)
  return value
}
