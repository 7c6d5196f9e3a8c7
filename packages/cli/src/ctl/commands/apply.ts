// SPDX-License-Identifier: Apache-2.0
// `merlonctl apply`: applies files to the cluster. A document that fails does not stop the others; the exit code reports
// it.

import { ApiError } from "@merlon/control/kubernetes"
import { Command, Option } from "commander"
import { duration, several } from "../../arguments.js"
import { applyObject, type DryRun } from "../apply/apply-object.js"
import { awaitReady, isForeignPolicy, isOurs, type Written, writtenOf } from "../apply/await-ready.js"
import { type AnyObject, kindName, type Resource } from "../catalog/resource.js"
import { userError, withSession } from "../connect.js"
import { type Manifest, readManifests } from "../documents/manifests.js"
import { namespaceOf } from "../documents/one-namespace.js"
import { readSources } from "../documents/sources.js"
import { CommandError, EXIT } from "../exit.js"
import { type ClusterFlags, dryRunOption, type OutputFormat, outputOption, withClusterFlags } from "../flags.js"
import { isUnknownKind, unknownKind } from "../lookup/not-found.js"
import { formatObjects, withoutManagedFields } from "../output/objects.js"
import type { Session } from "../session.js"
import { paintError, print, printError, visibleLines } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly filename: readonly string[]
  readonly recursive: boolean
  readonly dryRun: DryRun
  readonly forceConflicts: boolean
  readonly wait: boolean
  readonly timeout: number
  readonly output?: OutputFormat
}

export function applyCommand(): Command {
  return withClusterFlags(
    new Command("apply")
      .description("Create or update objects from files")
      .option("-f, --filename <path>", "file, folder or - for standard input (repeatable)", several, [])
      .option("-R, --recursive", "read folders recursively", false)
      .addOption(dryRunOption())
      .option("--force-conflicts", "take over fields that other tools manage", false)
      .option("--wait", "wait until the policies are Ready", false)
      .addOption(new Option("--timeout <time>", "how long --wait waits").argParser(duration).default(30_000, "30s"))
      .addOption(outputOption(["json", "yaml", "name"])),
  )
    .addHelpText("after", EXAMPLES)
    .action((flags: Flags) => withSession(flags, session => run(session, flags)))
}

const EXAMPLES = `
Policies are validated before they are sent. Errors show line and column.

Examples:
  merlonctl apply --wait -f samples/policies/peer-strict.yaml
  merlonctl apply -f policy.yaml --dry-run=server
  kubectl get pa -n foo default -o yaml | merlonctl apply -f -`

const SUFFIX = { none: "", client: " (dry run)", server: " (server dry run)" } as const

async function run(session: Session, flags: Flags): Promise<void> {
  const sources = await readSources(flags.filename, flags.recursive)
  const { manifests, errors, warnings } = readManifests(sources, session.names, session.namespace)
  for (const warning of warnings) printError(`${paintError.yellow("Warning:")} ${warning}`)
  for (const error of errors) complain(error)
  if (manifests.length === 0 && errors.length === 0)
    throw new CommandError("no-documents", "no documents found in the input")
  const done: AnyObject[] = []
  const written: Written[] = []
  const waits = flags.wait && flags.dryRun === "none"
  let failed = errors.length
  for (const manifest of manifests) {
    try {
      const { resource, object } = await applyOne(session, manifest, flags)
      done.push(object)
      if (isOurs(resource, session)) written.push(writtenOf(resource, object))
      else if (waits && isForeignPolicy(resource, session)) {
        complain(`${kindName(resource)}/${object.metadata.name} is not waited for: ${notOfThisMesh(session)}`)
        failed++
      }
    } catch (error) {
      const failure = error instanceof ApiError ? userError(error, session.origin) : error
      // Without a server, the other documents would fail too.
      if (!(failure instanceof CommandError) || failure.exitCode === EXIT.unreachable) throw failure
      const { kind, metadata } = manifest.object
      complain(`${manifest.source}: ${kind} \`${metadata.name}\`: ${visibleLines(failure.message)}`)
      failed++
    }
  }
  if (waits) failed += await waitForAll(session, written, flags)
  if (waits && written.length === 0 && failed === 0) printError("note: nothing to wait for: no document is a policy")
  if (flags.output === "json" || flags.output === "yaml") print(formatObjects(flags.output, done, true))
  if (failed > 0) process.exitCode = EXIT.failed
}

function notOfThisMesh({ names: { mesh, domain }, installed }: Session): string {
  if (!installed) return "no mesh is installed in this cluster"
  return `it is no policy of the mesh \`${mesh}\` (${domain}); name its own with \`--mesh\` and \`--domain\``
}

/** Returns how many are not ready. */
async function waitForAll(session: Session, written: readonly Written[], flags: Flags): Promise<number> {
  let failed = 0
  for (const one of written) {
    const label = `${kindName(one.resource)}/${one.name}`
    try {
      const message = await awaitReady(session, one, flags.timeout)
      if (flags.output === undefined) print(`${label} ${message}`)
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      complain(`${label} ${error.message}`)
      failed++
    }
  }
  return failed
}

interface Applied {
  readonly resource: Resource
  readonly object: AnyObject
}

async function applyOne(session: Session, { object }: Manifest, flags: Flags): Promise<Applied> {
  const resource = await session.catalog.ofDocument(object.apiVersion, object.kind)
  const namespace = namespaceOf(object, resource, session)
  try {
    const applied = await applyObject(session.api, resource, object, namespace, flags)
    const name = `${kindName(resource)}/${object.metadata.name}`
    if (flags.output === "name") print(name)
    else if (flags.output === undefined) print(`${name} ${applied.change}${SUFFIX[flags.dryRun]}`)
    return { resource, object: withoutManagedFields(applied.object) }
  } catch (error) {
    throw betterFailure(error, resource, namespace, session)
  }
}

function betterFailure(error: unknown, resource: Resource, namespace: string | undefined, session: Session): unknown {
  if (isUnknownKind(error)) return unknownKind(resource, session.names)
  if (error instanceof ApiError && error.reason === "NotFound" && error.message.startsWith("namespaces ")) {
    return new CommandError(
      "no-namespace",
      `there is no namespace \`${namespace}\`; \`kubectl create namespace ${namespace}\` makes it`,
    )
  }
  return error
}

function complain(text: string): void {
  printError(`${paintError.red("error:")} ${text}`)
}
