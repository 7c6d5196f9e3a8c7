// SPDX-License-Identifier: Apache-2.0
// `merlonctl get`: shows objects as the server's tables or as documents, once or continuously.

import { Command } from "commander"
import { withSession } from "../connect.js"
import { usageError } from "../exit.js"
import { outputOption, withClusterFlags } from "../flags.js"
import type { GetFlags } from "../get/get-flags.js"
import { getObjects } from "../get/get-objects.js"
import { getTables } from "../get/get-tables.js"
import { watchObjects, watchTable } from "../get/watch.js"
import { findTargets } from "../lookup/targets.js"
import type { Session } from "../session.js"

export function getCommand(): Command {
  return withClusterFlags(
    new Command("get")
      .description("Show objects")
      .argument("<kind>", "kind, several joined by commas, kind/name, or `policies` for all of ours")
      .argument("[names...]", "names of the objects")
      .option("-A, --all-namespaces", "query all namespaces", false)
      .option("-l, --selector <labels>", "filter by labels, as app=web,version!=v1")
      .option("--field-selector <fields>", "filter by fields, as metadata.name=web")
      .option("--no-headers", "omit the header line")
      .option("--show-labels", "show labels", false)
      .option("--show-managed-fields", "show managed fields (json and yaml)", false)
      .option("--ignore-not-found", "ignore objects that do not exist", false)
      .option("-w, --watch", "watch for changes", false)
      .addOption(outputOption(["json", "yaml", "wide", "name"])),
  )
    .addHelpText("after", EXAMPLES)
    .action((kind: string, names: readonly string[], flags: GetFlags) =>
      withSession(flags, session => run(session, [kind, ...names], flags)),
    )
}

const EXAMPLES = `
Short names: ra RequestAuthentication, ap AuthorizationPolicy, pa PeerAuthentication, ms MeshService.

Examples:
  merlonctl get policies -A
  merlonctl get pa default -n foo -o yaml
  merlonctl get pods -l app=httpbin -w`

async function run(session: Session, words: readonly string[], flags: GetFlags): Promise<void> {
  const question = await findTargets(session, words)
  if (question.targets.length > 0 && (flags.allNamespaces || flags.selector !== undefined)) {
    throw usageError("a name stands alone: leave out `-A` and `-l`, or the name")
  }
  const asObjects = flags.output === "json" || flags.output === "yaml" || flags.output === "name"
  if (flags.watch) return (asObjects ? watchObjects : watchTable)(session, question, flags)
  return (asObjects ? getObjects : getTables)(session, question, flags)
}
