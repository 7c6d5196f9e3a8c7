// SPDX-License-Identifier: Apache-2.0
// `merlonctl patch`: changes some fields of one object.

import { ApiError } from "@merlon/control/kubernetes"
import { Command, Option } from "commander"
import { parse } from "yaml"
import { duration } from "../../arguments.js"
import { pathOf } from "../api/path.js"
import { awaitReady, isOurs, writtenOf } from "../apply/await-ready.js"
import { type AnyObject, kindName } from "../catalog/resource.js"
import { withSession } from "../connect.js"
import { CommandError, usageError } from "../exit.js"
import { type ClusterFlags, dryRunOption, type OutputFormat, outputOption, withClusterFlags } from "../flags.js"
import { isUnknownKind, notFound, unknownKind } from "../lookup/not-found.js"
import { oneObject } from "../lookup/targets.js"
import { formatObject, withoutManagedFields } from "../output/objects.js"
import { readText } from "../read-text.js"
import type { Session } from "../session.js"
import { print } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly type: keyof typeof CONTENT_TYPES
  readonly patch?: string
  readonly patchFile?: string
  readonly subresource?: string
  readonly dryRun: "none" | "client" | "server"
  readonly wait: boolean
  readonly timeout: number
  readonly output?: OutputFormat
}

const CONTENT_TYPES = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const

export function patchCommand(): Command {
  return withClusterFlags(
    new Command("patch")
      .description("Change fields of an object")
      .argument("<kind>", "kind, or kind/name")
      .argument("[name]", "name of the object")
      .addOption(
        new Option("--type <type>", "patch format: `merge` (RFC 7386) or `json` (RFC 6902)")
          .choices(Object.keys(CONTENT_TYPES))
          .default("merge"),
      )
      .option("-p, --patch <text>", "the patch, as JSON or YAML")
      .option("--patch-file <file>", "file with the patch, - for standard input")
      .option("--subresource <name>", "subresource to patch, as `status`")
      .option("--wait", "wait until the policy is Ready", false)
      .addOption(new Option("--timeout <time>", "how long --wait waits").argParser(duration).default(30_000, "30s"))
      .addOption(dryRunOption())
      .addOption(outputOption(["json", "yaml", "name"])),
  )
    .addHelpText("after", EXAMPLES)
    .action((kind: string, name: string | undefined, flags: Flags) =>
      withSession(flags, session => run(session, kind, name, flags)),
    )
}

const EXAMPLES = `
Examples:
  merlonctl patch peerauthentication default -n foo -p '{"spec":{"mtls":{"mode":"STRICT"}}}'
  merlonctl patch ap/readers -n foo --type json -p '[{"op":"replace","path":"/spec/action","value":"DENY"}]'`

async function run(session: Session, kind: string, name: string | undefined, flags: Flags): Promise<void> {
  const patch = await readPatch(flags)
  const target = await oneObject(session, kind, name)
  const { resource, namespace } = target
  const path = pathOf(resource, target, {})
  try {
    const before = (await session.api.request({ method: "GET", path })) as AnyObject // an object from the server
    const dryRun = flags.dryRun === "none" ? undefined : "All"
    const after = (await session.api.request({
      method: "PATCH",
      path: pathOf(
        resource,
        { ...target, subresource: flags.subresource },
        { fieldManager: "merlonctl-patch", dryRun },
      ),
      body: patch,
      contentType: CONTENT_TYPES[flags.type],
    })) as AnyObject // an object from the server
    const label = `${kindName(resource)}/${after.metadata.name}`
    if (flags.output === "json" || flags.output === "yaml") {
      print(formatObject(flags.output, withoutManagedFields(after)))
    } else if (flags.output === "name") print(label)
    else print(`${label} patched${suffix(before, after, flags.dryRun)}`)
    if (!flags.wait || flags.dryRun !== "none" || !isOurs(resource, session)) return
    const message = await awaitReady(session, writtenOf(resource, after), flags.timeout)
    if (flags.output === undefined) print(`${label} ${message}`)
  } catch (error) {
    if (isUnknownKind(error)) throw unknownKind(resource, session.names)
    if (error instanceof ApiError && error.reason === "NotFound") {
      throw await notFound(session, resource, target.name, namespace)
    }
    if (error instanceof ApiError && error.code === 415) {
      throw new CommandError(
        "usage",
        `\`${kindName(resource)}\` takes no \`--type ${flags.type}\`; use \`merge\` or \`json\``,
      )
    }
    throw error
  }
}

function suffix(before: AnyObject, after: AnyObject, dryRun: Flags["dryRun"]): string {
  if (dryRun !== "none") return " (server dry run)"
  return before.metadata.resourceVersion === after.metadata.resourceVersion ? " (no change)" : ""
}

async function readPatch({ patch, patchFile, type }: Flags): Promise<unknown> {
  if ((patch === undefined) === (patchFile === undefined)) {
    throw usageError("say what to change: either `-p '{…}'` or `--patch-file FILE`")
  }
  const text = patch ?? (await readText(patchFile ?? "", "the patch"))
  let value: unknown
  try {
    value = parse(text)
  } catch (error) {
    throw new CommandError("invalid-document", `the patch is neither JSON nor YAML: ${(error as Error).message}`)
  }
  if (type === "json" ? !Array.isArray(value) : typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new CommandError(
      "invalid-document",
      type === "json"
        ? 'a patch of `--type json` is a list of operations, as `[{"op":"remove","path":"/spec/selector"}]`'
        : `a patch of \`--type ${type}\` is an object, as \`{"spec":{…}}\``,
    )
  }
  return value
}
