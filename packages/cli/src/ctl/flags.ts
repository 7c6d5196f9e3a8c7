// SPDX-License-Identifier: Apache-2.0
// Flags that mean the same in every command: the cluster, the mesh, and the output format.

import { type Command, InvalidArgumentError, Option } from "commander"

export interface ClusterFlags {
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
  /** Absent if neither a flag nor the environment names it. The cluster is queried then. */
  readonly mesh?: string
  readonly domain?: string
  readonly requestTimeout: number
}

/** For commands that query no cluster for its mesh. */
export const DEFAULT_MESH = { mesh: "merlon", domain: "merlon.dev" } as const

export type OutputFormat = "json" | "yaml" | "wide" | "name"

export function withClusterFlags(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "kubeconfig to use (default: KUBECONFIG, the local mesh's, ~/.kube/config)")
    .option("--context <name>", "kubeconfig context to use")
    .option("-n, --namespace <name>", "namespace (default: the context's, else `default`)", namespaceName)
    .addOption(new Option("--request-timeout <seconds>", "timeout of one request").argParser(seconds).default(30))
    .addOption(
      new Option("--mesh <word>", "name of the mesh (default: the only one in the cluster)").env("MERLON_MESH"),
    )
    .addOption(
      new Option("--domain <domain>", "domain of the mesh's API groups (default: the only one in the cluster)").env(
        "MERLON_DOMAIN",
      ),
    )
}

/** For commands that query no cluster. */
export function withMeshFlags(command: Command): Command {
  return withMeshOptions(command, DEFAULT_MESH)
}

/** For commands that read the mesh from policies. */
export function withPolicyMeshFlags(command: Command): Command {
  return withMeshOptions(command, {})
}

function withMeshOptions(command: Command, otherwise: Partial<typeof DEFAULT_MESH>): Command {
  const found = otherwise.mesh === undefined ? " (default: by the API groups of the policies)" : ""
  return command
    .addOption(new Option("--mesh <word>", `name of the mesh${found}`).env("MERLON_MESH").default(otherwise.mesh))
    .addOption(
      new Option("--domain <domain>", `domain of the mesh's API groups${found}`)
        .env("MERLON_DOMAIN")
        .default(otherwise.domain),
    )
}

export function outputOption(formats: readonly OutputFormat[], description = "output format"): Option {
  return new Option("-o, --output <format>", description).choices([...formats])
}

/** `--dry-run` without a value is rejected, like in kubectl: it would not say whether the server is contacted. */
export function dryRunOption(): Option {
  return new Option(
    "--dry-run <where>",
    "show what would happen: `client` checks locally, `server` asks the API server",
  )
    .choices(["none", "client", "server"])
    .default("none")
}

/** Rejects a name that no namespace can have. It is a mistake, often an unset variable, and not an empty namespace. */
function namespaceName(text: string): string {
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text))
    throw new InvalidArgumentError("must be the name of a namespace: small letters, digits and hyphens")
  return text
}

function seconds(text: string): number {
  const value = Number(text.replace(/s$/, ""))
  if (!(value > 0 && value <= 86_400)) throw new InvalidArgumentError("must be a number of seconds, as 30")
  return value
}
