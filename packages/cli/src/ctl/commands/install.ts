// SPDX-License-Identifier: Apache-2.0
// `merlonctl install` and `merlonctl upgrade`: install the control plane into a cluster, or change its version or values.
// Both apply what `merlonctl manifest` prints and wait until it is ready; they can be repeated at any time.

import { definitionManifests, installManifests } from "@merlon/control/install"
import { Command, Option } from "commander"
import { duration } from "../../arguments.js"
import { VERSION } from "../../version.js"
import { applyObject, type DryRun } from "../apply/apply-object.js"
import { type AnyObject, kindName } from "../catalog/resource.js"
import { withSession } from "../connect.js"
import { CommandError } from "../exit.js"
import { type ClusterFlags, DEFAULT_MESH, dryRunOption, withClusterFlags } from "../flags.js"
import { awaitRollout, findInstalled, keptValues, rejectHelmRelease, valuesAnnotation } from "../install/installed.js"
import { givenValues, type ValuesFlags, valuesOf, withValuesFlags } from "../install/values-flags.js"
import type { Session } from "../session.js"
import { print } from "../terminal.js"

interface Flags extends ClusterFlags, Omit<ValuesFlags, "mesh" | "domain"> {
  readonly dryRun: DryRun
  readonly wait: boolean
  readonly timeout: number
  readonly resetValues?: boolean
}

export function installCommand(): Command {
  return installing(new Command("install").description("Install the control plane in a cluster"))
    .addHelpText(
      "after",
      `
Examples:
  merlonctl install
  merlonctl install --set replicas=3 --set capture=service
  merlonctl install -f values.yaml --dry-run=server`,
    )
    .action((flags: Flags) =>
      // Flags alone name the mesh to install, even if the cluster already has another one.
      withSession({ ...DEFAULT_MESH, ...flags }, async session => {
        const installed = await findInstalled(session)
        rejectHelmRelease(installed, session, "upgrade")
        await run(session, flags, await givenValues({ ...flags, ...wordsOf(session) }))
      }),
    )
}

export function upgradeCommand(): Command {
  return installing(
    new Command("upgrade").description("Upgrade the control plane to this version, or change its values"),
  )
    .option("--reset-values", "reset values to their defaults", false)
    .addHelpText(
      "after",
      `
Values given at the installation stay unless they are given anew.

Examples:
  merlonctl upgrade
  merlonctl upgrade --set replicas=3
  merlonctl upgrade --reset-values -f values.yaml`,
    )
    .action((flags: Flags) =>
      withSession(flags, async session => {
        const installed = await findInstalled(session)
        rejectHelmRelease(installed, session, "upgrade")
        if (installed === undefined)
          throw new CommandError("not-installed", "nothing is installed; `merlonctl install` does it")
        const kept = flags.resetValues === true ? {} : keptValues(session, installed)
        await run(session, flags, [kept, ...(await givenValues({ ...flags, ...wordsOf(session) }))])
      }),
    )
}

const wordsOf = ({ names: { mesh, domain } }: Session) => ({ mesh, domain })

function installing(command: Command): Command {
  return withValuesFlags(
    withClusterFlags(command)
      .addOption(dryRunOption())
      .option("--no-wait", "do not wait until it is ready")
      .addOption(new Option("--timeout <time>", "how long --wait waits").argParser(duration).default(180_000, "180s")),
  )
}

async function run(session: Session, flags: Flags, given: readonly unknown[]): Promise<void> {
  const values = valuesOf(given)
  const kept = JSON.stringify(merged(given))
  const objects: readonly AnyObject[] = [
    ...definitionManifests(session.names).map(({ object }) => object),
    ...installManifests(values).map(object =>
      object.kind === "Deployment" ? withNote(session, object, kept) : object,
    ),
  ]
  for (const object of objects) {
    const resource = await session.catalog.ofDocument(object.apiVersion, object.kind)
    // The control plane fills in some fields. All fields here belong to the installer.
    const options = { dryRun: flags.dryRun, forceConflicts: true }
    const { change } = await applyObject(session.api, resource, object, object.metadata.namespace, options)
    const dry = flags.dryRun === "none" ? "" : ` (${flags.dryRun === "server" ? "server " : ""}dry run)`
    print(`${kindName(resource)}/${object.metadata.name} ${change}${dry}`)
  }
  if (flags.dryRun !== "none" || !flags.wait) return
  await awaitRollout(session, flags.timeout)
  print(`\n${session.names.mesh} ${VERSION} serves in \`${session.names.rootNamespace}\`. Put a namespace into the mesh with
  kubectl label namespace NAME ${session.names.injectionLabel}=enabled`)
}

function withNote(session: Session, object: AnyObject, kept: string): AnyObject {
  return { ...object, metadata: { ...object.metadata, annotations: { [valuesAnnotation(session)]: kept } } }
}

/** Merges values field by field. Later ones win. */
function merged(given: readonly unknown[]): unknown {
  let result: unknown = {}
  for (const one of given) result = over(result, one)
  return result
}

function over(before: unknown, after: unknown): unknown {
  if (!isMapping(before) || !isMapping(after)) return after
  const both = Object.entries(after).map(([name, value]) => [name, over(before[name], value)] as const)
  return { ...before, ...Object.fromEntries(both) }
}

function isMapping(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
