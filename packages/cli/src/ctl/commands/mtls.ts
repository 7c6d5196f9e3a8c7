// SPDX-License-Identifier: Apache-2.0
// `merlonctl mtls ready`: who still calls in plaintext, and whether STRICT is safe now.

import { Command, Option } from "commander"
import { withSession } from "../connect.js"
import { CommandError, EXIT } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { seenList, tellScope } from "../seen/answers-api.js"
import { readinessJson } from "../seen/json.js"
import { readinessText } from "../seen/tables.js"
import { print } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly allNamespaces: boolean
  readonly window?: string
  readonly output: "text" | "json"
}

export function mtlsCommand(): Command {
  return new Command("mtls").description("ask about mutual TLS").addCommand(readyCommand())
}

function readyCommand(): Command {
  return withClusterFlags(
    new Command("ready")
      .description("say who still calls in plaintext, and whether STRICT is safe now")
      .argument("[workload]", "one of the namespace; all of them if none is named")
      .option("-A, --all-namespaces", "of all namespaces", false)
      .option("--window <time>", "calls of this time count, as 24h (default: 7d)")
      .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text")),
  )
    .addHelpText("after", EXAMPLES)
    .action((workload: string | undefined, flags: Flags) =>
      withSession(flags, session => run(session, workload, flags)),
    )
}

const EXAMPLES = `
ready: every call came by mutual TLS; waiting: somebody comes in plaintext; unknown: nobody called, or a Pod has no
xserver; strict: it is so already. Exits with 0 where all are ready or strict, else with 5.

Examples:
  merlonctl mtls ready -n foo
  merlonctl mtls ready httpbin -n foo --window 24h`

async function run(session: Parameters<typeof seenList>[0], workload: string | undefined, flags: Flags): Promise<void> {
  const namespace = flags.allNamespaces ? undefined : session.namespace
  const query = new URLSearchParams({ limit: "5000", ...(flags.window === undefined ? {} : { window: flags.window }) })
  const { items, notes } = await seenList(session, { resource: "readiness", namespace, query })
  const list = { items: workload === undefined ? items : items.filter(({ name }) => name === workload), notes }
  if (workload !== undefined && list.items.length === 0) {
    const known = items.map(({ name }) => name).join(", ")
    throw new CommandError(`no workload \`${workload}\` takes calls there; there is ${known || "none"}`)
  }
  tellScope(list, namespace)
  print(flags.output === "json" ? readinessJson(list.items) : readinessText(list, Date.now()))
  const isSafe = list.items.every(({ spec }) => spec.state === "ready" || spec.state === "strict")
  if (!isSafe) process.exitCode = EXIT.found
}
