// SPDX-License-Identifier: Apache-2.0
// Reads kubeconfig files as kubectl does: if several files define a name, the first wins, and paths are relative to
// their file.

import { dirname, isAbsolute, resolve } from "node:path"
import { readUtf8File } from "@merlon/xds/runtime"
import { parse } from "yaml"
import { type Connection, ConnectionError, type Credentials } from "./connection.js"
import { ExecCredential } from "./exec-credential.js"
import { type CredentialFiles, FileCredentials } from "./file-credentials.js"
import type { Time } from "./time.js"

type Fields = { readonly [field: string]: unknown }

interface Entry {
  readonly fields: Fields
  /** Folder of the file that defines it. */
  readonly folder: string
}

interface Merged {
  readonly clusters: Map<string, Entry>
  readonly users: Map<string, Entry>
  readonly contexts: Map<string, Entry>
  currentContext: string
}

export interface KubeconfigOptions {
  readonly context?: string
  readonly time: Time
  /** Called once for each dangerous setting. */
  readonly warn: (message: string) => void
}

/** The connection that the files define; undefined if none of them exists. */
export function kubeconfigConnection(files: readonly string[], options: KubeconfigOptions): Connection | undefined {
  const found = files.flatMap(file => readIfThere(file) ?? [])
  if (found.length === 0) return undefined
  const merged = merge(found)
  const shown = found.map(({ file }) => `\`${file}\``).join(", ")
  const name = options.context ?? merged.currentContext
  if (name === "") {
    throw new ConnectionError(
      "kubeconfig-invalid",
      `no current context in ${shown}; name one with \`--context\`${known(merged.contexts)}`,
    )
  }
  const context = entry(merged.contexts, name, "context", shown).fields
  const origin = `context \`${name}\` of ${shown}`
  const cluster = entry(merged.clusters, text(context.cluster), "cluster", origin)
  const user = text(context.user) === "" ? undefined : entry(merged.users, text(context.user), "user", origin)
  return connection(cluster, user, { ...options, origin, namespace: text(context.namespace) })
}

function readIfThere(file: string): { readonly file: string; readonly content: Fields } | undefined {
  let content: string
  try {
    content = readUtf8File(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw new ConnectionError(
      "kubeconfig-unreadable",
      `cannot read the kubeconfig \`${file}\`: ${(error as Error).message}`,
      { cause: error },
    )
  }
  try {
    return { file, content: fields(parse(content)) }
  } catch (error) {
    throw new ConnectionError(
      "kubeconfig-unreadable",
      `the kubeconfig \`${file}\` is not valid YAML: ${(error as Error).message}`,
      { cause: error },
    )
  }
}

function merge(found: readonly { readonly file: string; readonly content: Fields }[]): Merged {
  const merged: Merged = { clusters: new Map(), users: new Map(), contexts: new Map(), currentContext: "" }
  for (const { file, content } of found) {
    const folder = dirname(resolve(file))
    merged.currentContext ||= text(content["current-context"])
    collect(merged.clusters, content.clusters, "cluster", folder)
    collect(merged.users, content.users, "user", folder)
    collect(merged.contexts, content.contexts, "context", folder)
  }
  return merged
}

function collect(into: Map<string, Entry>, list: unknown, field: string, folder: string): void {
  for (const item of Array.isArray(list) ? list : []) {
    const named = fields(item)
    const name = text(named.name)
    if (name !== "" && !into.has(name)) into.set(name, { fields: fields(named[field]), folder })
  }
}

function entry(entries: Map<string, Entry>, name: string, what: string, where: string): Entry {
  const found = entries.get(name)
  if (found !== undefined) return found
  throw new ConnectionError("kubeconfig-invalid", `${where} has no ${what} \`${name}\`${known(entries)}`)
}

function known(entries: Map<string, Entry>): string {
  const names = [...entries.keys()].slice(0, 10).map(name => `\`${name}\``)
  return names.length === 0 ? "" : `; there are ${names.join(", ")}`
}

function connection(
  cluster: Entry,
  user: Entry | undefined,
  { origin, namespace, time, warn }: KubeconfigOptions & { readonly origin: string; readonly namespace: string },
): Connection {
  const server = serverOf(cluster, origin)
  const insecure = cluster.fields["insecure-skip-tls-verify"] === true
  if (insecure)
    warn(`${origin} turns off verification of the server's certificate: an attacker on the network can read and change`)
  const serverName = text(cluster.fields["tls-server-name"])
  const sources = [
    credentialSource(cluster, { ca: "certificate-authority" }, time),
    ...userSources(user, cluster, origin, time),
  ]
  return {
    server,
    insecure,
    ...(serverName === "" ? {} : { serverName }),
    ...(namespace === "" ? {} : { namespace }),
    origin,
    credentials: async () =>
      Object.assign({}, ...(await Promise.all(sources.map(source => source.credentials())))) as Credentials, // from each source
    rejected: () => {
      for (const source of sources) source.rejected()
    },
  }
}

function serverOf({ fields: { server } }: Entry, origin: string): string {
  try {
    const url = new URL(text(server))
    if (url.protocol === "https:" || url.protocol === "http:") return url.href.replace(/\/$/, "")
  } catch {
    // Reported below, together with other schemes.
  }
  throw new ConnectionError(
    "kubeconfig-invalid",
    `${origin} has no \`server\` with an http or https URL: \`${text(server)}\``,
  )
}

interface CredentialSource {
  credentials(): Promise<Credentials>
  rejected(): void
}

function userSources(user: Entry | undefined, cluster: Entry, origin: string, time: Time): readonly CredentialSource[] {
  if (user === undefined) return []
  if (user.fields["auth-provider"] !== undefined || user.fields.username !== undefined) {
    throw new ConnectionError(
      "kubeconfig-invalid",
      `${origin} uses \`auth-provider\` or a password, which Kubernetes no longer has; use \`exec\`, a token or a client certificate`,
    )
  }
  const sources: CredentialSource[] = [
    credentialSource(user, { certificate: "client-certificate", key: "client-key", token: "tokenFile" }, time),
  ]
  if (user.fields.exec !== undefined) sources.push(execSource(user, cluster, time))
  return sources
}

/** Inline data wins over a file; a token file wins over a token, as in client-go. */
function credentialSource({ fields: from, folder }: Entry, names: CredentialFiles, time: Time): CredentialSource {
  const inline: Record<string, string> = {}
  const files: Record<string, string> = {}
  for (const [credential, field] of Object.entries(names)) {
    const data = text(from[`${field}-data`])
    const path = text(from[field])
    if (data !== "") inline[credential] = Buffer.from(data, "base64").toString("utf8")
    else if (path !== "") files[credential] = isAbsolute(path) ? path : resolve(folder, path)
  }
  if (names.token !== undefined && files.token === undefined && text(from.token) !== "") inline.token = text(from.token)
  const read = new FileCredentials(files, time)
  return { credentials: async () => ({ ...inline, ...(await read.credentials()) }), rejected: () => read.rejected() }
}

function execSource({ fields: { exec }, folder }: Entry, cluster: Entry, time: Time): CredentialSource {
  const spec = fields(exec)
  const command = text(spec.command)
  const env = (Array.isArray(spec.env) ? spec.env : []).map(fields)
  const { server, "tls-server-name": serverName, "certificate-authority-data": ca } = cluster.fields
  return new ExecCredential(
    {
      apiVersion: text(spec.apiVersion),
      // A command without a slash is looked up on the PATH; any other relative path is relative to the file.
      command: command.includes("/") && !isAbsolute(command) ? resolve(folder, command) : command,
      args: (Array.isArray(spec.args) ? spec.args : []).map(text),
      env: Object.fromEntries(env.map(({ name, value }) => [text(name), text(value)])),
      ...(text(spec.installHint) === "" ? {} : { installHint: text(spec.installHint) }),
      ...(spec.provideClusterInfo === true
        ? { cluster: { server, "tls-server-name": serverName, "certificate-authority-data": ca } }
        : {}),
    },
    time,
  )
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {}
}

function text(value: unknown): string {
  return typeof value === "string" ? value : ""
}
