// SPDX-License-Identifier: Apache-2.0
// `merlonctl proxy status`: lists every connected proxy, its revision and its lag.

import { Command, Option } from "commander"
import { withSession } from "../connect.js"
import { EXIT } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { gapsIn, observedList, printScope } from "../observed/answers-api.js"
import { proxiesJson } from "../observed/json.js"
import { isUpToDate, proxiesText } from "../observed/tables.js"
import { print } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly allNamespaces: boolean
  readonly output: "text" | "json"
}

export function proxyCommand(): Command {
  return new Command("proxy").description("Query proxies").addCommand(statusCommand())
}

function statusCommand(): Command {
  return withClusterFlags(
    new Command("status")
      .description("Show connected proxies, their revision and lag")
      .option("-A, --all-namespaces", "query all namespaces", false)
      .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text")),
  )
    .addHelpText("after", EXAMPLES)
    .action((flags: Flags) => withSession(flags, session => run(session, flags)))
}

const EXAMPLES = `
Exits with 5 if a proxy lags or has rejected an update, with 4 if no proxy was found or not all replicas of the control
plane answered.

Examples:
  merlonctl proxy status -A`

async function run(session: Parameters<typeof observedList>[0], flags: Flags): Promise<void> {
  const namespace = flags.allNamespaces ? undefined : session.namespace
  const list = await observedList(session, {
    resource: "proxies",
    namespace,
    query: new URLSearchParams({ limit: "5000" }),
  })
  printScope(list, namespace)
  const skipped = gapsIn(list, namespace, "connected proxy")
  print(flags.output === "json" ? proxiesJson(list.items, skipped) : proxiesText(list, Date.now(), skipped))
  if (!list.items.every(isUpToDate)) process.exitCode = EXIT.found
  else if (skipped.length > 0) process.exitCode = EXIT.undecided
}
