// SPDX-License-Identifier: Apache-2.0
// `merlonctl version`: prints its version and those of the control plane and proxies, for bug reports. Without a cluster
// it says so and succeeds.

import { ApiError } from "@merlon/control/kubernetes"
import { Command, Option } from "commander"
import { VERSION } from "../../version.js"
import { withSession } from "../connect.js"
import { CommandError } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { fieldsOf, textOf } from "../foreign.js"
import { observedList } from "../observed/answers-api.js"
import type { Session } from "../session.js"
import { print, printError, visible } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly client: boolean
  readonly output: "text" | "json"
}

interface Versions {
  readonly client: string
  readonly node: string
  readonly platform: string
  /** The version of the cluster's API server. */
  readonly server?: string
  readonly controlPlane?: string
  /** The number of proxies per version. */
  readonly proxies?: Readonly<Record<string, number>>
}

export function versionCommand(): Command {
  return withClusterFlags(
    new Command("version")
      .description("Show the versions of this program, the control plane and the proxies")
      .option("--client", "show the client version only", false)
      .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text")),
  )
    .addHelpText("after", "\nExamples:\n  merlonctl version\n  merlonctl version --client -o json")
    .action(run)
}

const UNKNOWN = "unknown"

async function run(flags: Flags): Promise<void> {
  const own = { client: VERSION, node: process.version, platform: `${process.platform} ${process.arch}` }
  const versions: Versions = flags.client ? own : { ...own, ...(await served(flags)) }
  print(flags.output === "json" ? versionJson(versions) : versionText(versions))
}

/** Versions that are not available are omitted, and the reason is printed. */
async function served(flags: Flags): Promise<Omit<Versions, "client" | "node" | "platform">> {
  try {
    return await withSession(flags, async session => {
      const { gitVersion } = fieldsOf(await session.api.request({ method: "GET", path: "/version" }))
      return { server: textOf(gitVersion) ?? UNKNOWN, ...(await ofMesh(session)) }
    })
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    printError(`note: ${visible(error.message)}`)
    return {}
  }
}

async function ofMesh(session: Session): Promise<Pick<Versions, "controlPlane" | "proxies">> {
  try {
    const query = new URLSearchParams({ limit: "5000" })
    const { items, notes } = await observedList(session, { resource: "proxies", namespace: undefined, query })
    const proxies: Record<string, number> = {}
    for (const { spec } of items) {
      const version = textOf(spec.version) ?? UNKNOWN
      proxies[version] = (proxies[version] ?? 0) + 1
    }
    return { controlPlane: textOf(fieldsOf(notes.controlPlane).version) ?? UNKNOWN, proxies }
  } catch (error) {
    if (!(error instanceof CommandError) && !(error instanceof ApiError)) throw error
    printError(`note: the control plane does not respond: ${visible(error.message)}`)
    return {}
  }
}

export function versionJson(versions: Versions): string {
  return JSON.stringify(versions, undefined, 2)
}

export function versionText({ client, node, platform, server, controlPlane, proxies }: Versions): string {
  const counted = Object.entries(proxies ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  return [
    `merlonctl ${client} (node ${node}, ${platform})`,
    ...(controlPlane === undefined ? [] : [`control plane ${visible(controlPlane)}`]),
    ...(proxies === undefined
      ? []
      : [`proxies ${counted.map(([of, count]) => `${visible(of)} (${count})`).join(", ") || "none"}`]),
    ...(server === undefined ? [] : [`API server ${visible(server)}`]),
  ].join("\n")
}
