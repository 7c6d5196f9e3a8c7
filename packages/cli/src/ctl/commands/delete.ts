// SPDX-License-Identifier: Apache-2.0
// `merlonctl delete`: deletes objects by name, by label or by file, and waits until they are gone.

import { ApiError } from "@merlon/control/kubernetes"
import { Command } from "commander"
import { duration, several } from "../../arguments.js"
import { pathOf } from "../api/path.js"
import { type AnyObject, kindName, type Resource } from "../catalog/resource.js"
import { userError, withSession } from "../connect.js"
import { readManifests } from "../documents/manifests.js"
import { namespaceOf } from "../documents/one-namespace.js"
import { readSources } from "../documents/sources.js"
import { CommandError, EXIT, usageError } from "../exit.js"
import { type ClusterFlags, dryRunOption, type OutputFormat, outputOption, withClusterFlags } from "../flags.js"
import { fieldsOf } from "../foreign.js"
import { isUnknownKind, notFound, unknownKind } from "../lookup/not-found.js"
import { findTargets, type Target } from "../lookup/targets.js"
import type { Session } from "../session.js"
import { paintError, print, printError } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly filename: readonly string[]
  readonly recursive: boolean
  readonly ignoreNotFound: boolean
  readonly selector?: string
  readonly all: boolean
  readonly wait: boolean
  readonly timeout: number
  readonly dryRun: "none" | "client" | "server"
  readonly output?: OutputFormat
}

interface Removed extends Target {
  /** Undefined if the server did not return it. */
  readonly uid: unknown
}

const HOLDERS: ReadonlySet<string> = new Set(["Namespace", "CustomResourceDefinition"])
const DRY_RUN = { none: "", client: " (dry run)", server: " (server dry run)" } as const
const FIRST_LOOK_MS = 100
const LAST_LOOK_MS = 2_000

export function deleteCommand(): Command {
  return withClusterFlags(
    new Command("delete")
      .description("Delete objects")
      .argument("[kind]", "kind, or kind/name")
      .argument("[names...]", "names of the objects")
      .option("-f, --filename <path>", "delete the objects in a file, a folder or standard input (-)", several, [])
      .option("-R, --recursive", "read folders recursively", false)
      .option("--ignore-not-found", "ignore objects that do not exist", false)
      .option("-l, --selector <labels>", "delete objects with these labels")
      .option("--all", "delete all objects of this kind in the namespace", false)
      .option("--no-wait", "do not wait for deletion")
      .option("--timeout <time>", "how long to wait", duration, 300_000)
      .addOption(dryRunOption())
      .addOption(outputOption(["name"])),
  )
    .addHelpText("after", EXAMPLES)
    .action((kind: string | undefined, names: readonly string[], flags: Flags) =>
      withSession(flags, session => run(session, kind, names, flags)),
    )
}

const EXAMPLES = `
Examples:
  merlonctl delete peerauthentication default -n foo --ignore-not-found
  merlonctl delete -f samples/policies/peer-strict.yaml`

async function run(session: Session, kind: string | undefined, names: readonly string[], flags: Flags): Promise<void> {
  const targets = await targetsOf(session, kind, names, flags)
  const removed: Removed[] = []
  let failed = 0
  for (const target of targets) {
    try {
      removed.push(...(await remove(session, target, flags)))
    } catch (error) {
      const failure = error instanceof ApiError ? userError(error, session.origin) : error
      if (!(failure instanceof CommandError) || failure.exitCode === EXIT.unreachable) throw failure
      printError(`${paintError.red("error:")} ${failure.message}`)
      failed++
    }
  }
  if (flags.wait && flags.dryRun === "none") for (const one of removed) await gone(session, one, flags.timeout)
  if (targets.length === 0 && !flags.ignoreNotFound) printError("No resources found")
  if (failed > 0) process.exitCode = EXIT.failed
}

async function targetsOf(
  session: Session,
  kind: string | undefined,
  names: readonly string[],
  flags: Flags,
): Promise<readonly Target[]> {
  if (flags.filename.length > 0) {
    if (kind !== undefined) throw usageError("either name objects, or give files with `-f`")
    return fromFiles(session, flags)
  }
  if (kind === undefined) throw usageError("say what to remove: `KIND NAME…`, `KIND -l LABELS` or `-f FILE`")
  const { resources, targets } = await findTargets(session, [kind, ...names])
  if (targets.length > 0) {
    if (flags.all || flags.selector !== undefined) throw usageError("either names, or `-l`, or `--all`")
    return targets
  }
  // A kind without names must not delete everything.
  if (!flags.all && flags.selector === undefined) {
    throw usageError(`name the objects, or say which with \`-l LABELS\`, or \`--all\``)
  }
  return (await Promise.all(resources.map(resource => listed(session, resource, flags.selector)))).flat()
}

async function fromFiles(session: Session, flags: Flags): Promise<readonly Target[]> {
  const sources = await readSources(flags.filename, flags.recursive)
  const { manifests, errors } = readManifests(sources, session.names, session.namespace)
  if (errors.length > 0)
    throw new CommandError("invalid-document", `what to remove cannot be read:\n${errors.join("")}`)
  const targets = await Promise.all(
    manifests.map(async ({ object }): Promise<Target> => {
      const resource = await session.catalog.ofDocument(object.apiVersion, object.kind)
      return { resource, name: object.metadata.name, namespace: namespaceOf(object, resource, session) }
    }),
  )
  // Deleting these deletes other objects too, which would then seem to be missing.
  const takesOthers = ({ resource }: Target): boolean => HOLDERS.has(resource.kind)
  return [...targets.filter(target => !takesOthers(target)), ...targets.filter(takesOthers)]
}

async function listed(session: Session, resource: Resource, labelSelector: string | undefined): Promise<Target[]> {
  const namespace = resource.namespaced ? session.namespace : undefined
  const path = pathOf(resource, { namespace }, { labelSelector })
  const { items = [] } = (await session.api.request({ method: "GET", path })) as { items?: AnyObject[] | null } // from the server
  return (items ?? []).map(({ metadata: { name } }) => ({ resource, name, namespace }))
}

/** Empty if it did not exist and that is ignored. */
async function remove(session: Session, target: Target, flags: Flags): Promise<readonly Removed[]> {
  const { resource, name, namespace } = target
  // All options are in the body: a server that gets a body ignores the query.
  const body = { propagationPolicy: "Background", ...(flags.dryRun === "none" ? {} : { dryRun: ["All"] }) }
  try {
    const answer = await session.api.request({ method: "DELETE", path: pathOf(resource, target), body })
    print(deletionLine(target, flags))
    return [{ ...target, uid: uidOf(answer) }]
  } catch (error) {
    if (isUnknownKind(error)) throw unknownKind(resource, session.names)
    if (!(error instanceof ApiError) || error.reason !== "NotFound") throw error
    if (!flags.ignoreNotFound) throw await notFound(session, resource, name, namespace)
    return []
  }
}

function deletionLine({ resource, name }: Target, { output, dryRun }: Flags): string {
  if (output === "name") return `${kindName(resource)}/${name}`
  return `${kindName(resource)} "${name}" deleted${DRY_RUN[dryRun]}`
}

function uidOf(answer: unknown): unknown {
  const { metadata, details } = fieldsOf(answer)
  return fieldsOf(metadata).uid ?? fieldsOf(details).uid
}

/** Waits until the object is gone. Finalizers may delay that; a new object of the same name is another one. */
async function gone(session: Session, target: Removed, timeoutMs: number): Promise<void> {
  const { uid } = target
  const path = pathOf(target.resource, target)
  const end = performance.now() + timeoutMs
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(wait * 2, LAST_LOOK_MS)) {
    try {
      const { metadata } = (await session.api.request({ method: "GET", path })) as AnyObject // from the server
      if (uid !== undefined && metadata.uid !== uid) return
      if (performance.now() > end) {
        const holders = Array.isArray(metadata.finalizers)
          ? ` of its finalizers \`${metadata.finalizers.join(", ")}\``
          : ""
        throw new CommandError(
          "not-ready",
          `${kindName(target.resource)} "${target.name}" is still there because${holders || " the server says so"}; \`--no-wait\` does not wait`,
        )
      }
    } catch (error) {
      if (error instanceof ApiError && error.reason === "NotFound") return
      throw error
    }
    await new Promise(resolve => setTimeout(resolve, wait))
  }
}
