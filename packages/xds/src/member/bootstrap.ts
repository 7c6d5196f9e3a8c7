// SPDX-License-Identifier: Apache-2.0
// What a proxy needs to join a mesh: who it is, whom to ask, and how each knows the other. Injection writes it for pods,
// `workload add` for everything else. `${NAME}` stands for a variable of the environment, since a pod's name is not known
// when its template is written.

import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { type MeshNames, meshNames } from "@merlon/policy"
import { parse } from "yaml"
import { ConfigurationError, Reader } from "./reader.js"

export interface Bootstrap {
  readonly names: MeshNames
  readonly controlPlane: { readonly address: string; readonly serverName: string }
  readonly workload: { readonly namespace: string; readonly name: string; readonly serviceAccount: string }
  /** File with the roots that the control plane's certificate may come from. */
  readonly trustBundle: string
  /** File with the workload's service-account token; read anew whenever it is needed. */
  readonly token: string
  /** Where others reach the workload; the control plane sees the connection's address where absent. */
  readonly address: string | undefined
  /** Where xserver listens. */
  readonly listen: string
  /** Where the application answers. */
  readonly application: string
  /** HOST:PORT of what operators ask, and of what the platform does, where these are not the usual ones. */
  readonly admin?: string | undefined
  readonly health?: string | undefined
  /** How the application is asked whether it is ready; where absent, it is as ready as its proxy. */
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

export function readBootstrap(path: string, environment: Environment): Bootstrap {
  const folder = dirname(resolve(path))
  const root = Reader.of(parseFile(path, environment), "")
  const mesh = root.child("mesh", reader => ({
    mesh: reader.text("name", "merlon"),
    domain: reader.text("domain", "merlon.dev"),
  }))
  const names = meshNames(mesh)
  const address = root.optionalText("address")
  const state = root.optionalText("state")
  const probe = root.has("probe") ? root.child("probe", readProbe) : undefined
  const bootstrap: Bootstrap = {
    names,
    controlPlane: root.child("controlPlane", reader => ({
      address: hostAndPort(reader.text("address"), "controlPlane.address"),
      serverName: reader.text("serverName", `${names.mesh}d.${names.rootNamespace}.svc`),
    })),
    workload: root.child("workload", reader => ({
      namespace: reader.text("namespace"),
      name: reader.text("name"),
      serviceAccount: reader.text("serviceAccount", "default"),
    })),
    trustBundle: resolve(folder, root.text("trustBundle")),
    token: resolve(folder, root.text("token")),
    address,
    listen: root.text("listen", "0.0.0.0"),
    application: root.text("application", "127.0.0.1"),
    probe,
    admin: optionalHostAndPort(root, "admin"),
    health: optionalHostAndPort(root, "health"),
    state: state === undefined ? undefined : resolve(folder, state),
  }
  root.end()
  return bootstrap
}

function readProbe(reader: Reader): ApplicationProbe {
  const kind = reader.choice("kind", ["http", "tcp", "command"], "tcp")
  const periodSeconds = reader.whole("periodSeconds", 1, 3_600, 5)
  const timeoutSeconds = reader.whole("timeoutSeconds", 1, 300, 2)
  const times = { periodSeconds, timeoutSeconds }
  if (kind === "command") {
    const command = reader.texts("command")
    if (command.length === 0)
      throw new ConfigurationError("config-value", "probe.command: must name a program, as `[pg_isready]`")
    return { kind, command, ...times }
  }
  const port = reader.whole("port", 1, 65_535)
  return kind === "tcp" ? { kind, port, ...times } : { kind, port, path: reader.text("path", "/"), ...times }
}

function parseFile(path: string, environment: Environment): unknown {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (error) {
    throw new ConfigurationError("config-unreadable", `cannot read \`${path}\`: ${messageOf(error)}`)
  }
  if (text.length > MAX_BYTES)
    throw new ConfigurationError("config-unreadable", `${path}: a bootstrap has at most ${MAX_BYTES} characters`)
  try {
    // Values are expanded after parsing: what stands in the environment must not change the document's shape.
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

function optionalHostAndPort(reader: Reader, name: string): string | undefined {
  const text = reader.optionalText(name)
  return text === undefined ? undefined : hostAndPort(text, name)
}

function hostAndPort(text: string, path: string): string {
  const port = Number(/^(?:\[[0-9a-fA-F:]+\]|[^:\s]+):(\d{1,5})$/.exec(text)?.[1])
  if (!(port >= 1 && port <= 65_535)) {
    throw new ConfigurationError(
      "config-value",
      `${path}: must have the form HOST:PORT, as \`127.0.0.1:15012\`; it is \`${text}\``,
    )
  }
  return text
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
