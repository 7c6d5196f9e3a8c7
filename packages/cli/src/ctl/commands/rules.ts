// SPDX-License-Identifier: Apache-2.0
// `merlonctl rules`: shows how often each rule decided a call, and which had no effect for a while.

import { Command, Option } from "commander"
import { withSession } from "../connect.js"
import { EXIT } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { observedList, printScope } from "../observed/answers-api.js"
import { rulesJson } from "../observed/json.js"
import { rulesText } from "../observed/tables.js"
import { print } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly allNamespaces: boolean
  readonly unusedFor?: string
  readonly output: "text" | "json"
}

export function rulesCommand(): Command {
  return withClusterFlags(
    new Command("rules")
      .description("Show how often each rule decided a call")
      .option("-A, --all-namespaces", "query all namespaces", false)
      .option("--unused-for <time>", "only rules that decided nothing for this long, as 30d or 12h")
      .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text")),
  )
    .addHelpText("after", EXAMPLES)
    .action((flags: Flags) => withSession(flags, session => run(session, flags)))
}

const EXAMPLES = `
A rule that is moved keeps its count; one that is changed begins anew. A rule counts as unused only where it was watched
for as long. Exits with 5 where --unused-for finds some.

Examples:
  merlonctl rules -n foo
  merlonctl rules -A --unused-for 30d`

async function run(session: Parameters<typeof observedList>[0], flags: Flags): Promise<void> {
  const namespace = flags.allNamespaces ? undefined : session.namespace
  const query = new URLSearchParams({
    limit: "5000",
    ...(flags.unusedFor === undefined ? {} : { unusedFor: flags.unusedFor }),
  })
  const list = await observedList(session, { resource: "rules", namespace, query })
  printScope(list, namespace)
  print(flags.output === "json" ? rulesJson(list.items) : rulesText(list, Date.now()))
  if (flags.unusedFor !== undefined && list.items.length > 0) process.exitCode = EXIT.found
}
