// SPDX-License-Identifier: Apache-2.0
// `merlonctl inject`: adds the proxy to Pods and workloads in files, as the webhook would. It contacts no cluster. For
// reviews, repositories, and clusters without webhooks.

import { type InjectionOptions, injectTemplate } from "@merlon/control/admission"
import { meshNames } from "@merlon/policy/mesh"
import { Command, Option } from "commander"
import { parseAllDocuments, stringify } from "yaml"
import { several } from "../../arguments.js"
import { DEFAULT_IMAGE } from "../../version.js"
import { readSources, type SourceText } from "../documents/sources.js"
import { CommandError } from "../exit.js"
import { withMeshFlags } from "../flags.js"
import { fieldsOf, listOf, textOf } from "../foreign.js"
import { paintError, print, printError, visible } from "../terminal.js"

interface Flags {
  readonly filename: readonly string[]
  readonly recursive: boolean
  readonly image: string
  readonly capture: "redirect" | "service"
  readonly udp: "pass" | "refuse"
  readonly outbound: "off" | "capture"
  readonly sidecar: "native" | "plain"
  readonly controlPlane?: string
  readonly mesh: string
  readonly domain: string
}

export function injectCommand(): Command {
  return withMeshFlags(new Command("inject").description("Print manifests with the proxy injected"))
    .option("-f, --filename <path>", "file, folder or - for standard input (repeatable)", several, [])
    .option("-R, --recursive", "read folders recursively", false)
    .option("--image <image>", "proxy image", DEFAULT_IMAGE)
    .addOption(
      new Option("--capture <how>", "how connections are captured")
        .choices(["redirect", "service"])
        .default("redirect"),
    )
    .addOption(new Option("--udp <how>", "allow or reject UDP to the Pods").choices(["pass", "refuse"]).default("pass"))
    .addOption(
      new Option("--outbound <how>", "whether to capture calls out of the Pods")
        .choices(["capture", "off"])
        .default("capture"),
    )
    .addOption(new Option("--sidecar <kind>", "kind of sidecar").choices(["native", "plain"]).default("native"))
    .option("--control-plane <host:port>", "address of the control plane (default: its Service)")
    .addHelpText(
      "after",
      `
Other documents are printed as they are. With \`--capture service\` the Services and the NetworkPolicy are the cluster's part.

Example:
  merlonctl inject -f deployment.yaml | kubectl apply -f -`,
    )
    .action(async (flags: Flags) => {
      const sources = await readSources(flags.filename, flags.recursive)
      const documents = sources.flatMap(source =>
        documentsOf(source).map(document => injected(document, source, flags)),
      )
      print(
        documents
          .map(document => stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }))
          .join("---\n")
          .trimEnd(),
      )
    })
}

function documentsOf({ name, text }: SourceText): readonly unknown[] {
  return parseAllDocuments(text).flatMap(document => {
    const [error] = document.errors
    if (error !== undefined) throw new CommandError("invalid-document", `${name}: ${error.message}`)
    const value: unknown = document.toJS()
    const isList = textOf(fieldsOf(value).kind) === "List"
    return value === null ? [] : isList ? listOf(fieldsOf(value).items) : [value]
  })
}

function injected(document: unknown, { name: source }: SourceText, flags: Flags): unknown {
  const { object, outcome, because, warnings } = injectTemplate(document, optionsOf(flags))
  const { kind, metadata } = fieldsOf(document)
  const label = visible(`${source}: ${textOf(kind) ?? "document"} ${textOf(fieldsOf(metadata).name) ?? ""}`)
  if (outcome === "rejected")
    throw new CommandError("invalid-document", `${label}: no xserver can be injected: ${because}`)
  for (const warning of [...warnings, ...(outcome === "skipped" ? [`not injected: ${because}`] : [])]) {
    printError(`${paintError.yellow("Warning:")} ${label}: ${warning}`)
  }
  return object
}

function optionsOf({ image, capture, udp, outbound, sidecar, controlPlane, mesh, domain }: Flags): InjectionOptions {
  const names = meshNames({ mesh, domain })
  const serverName = `${names.mesh}d.${names.rootNamespace}.svc`
  return {
    names,
    image,
    capture,
    udp,
    outbound,
    nativeSidecar: sidecar === "native",
    controlPlane: { address: controlPlane ?? `${serverName}:15012`, serverName },
  }
}
