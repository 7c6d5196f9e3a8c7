// SPDX-License-Identifier: Apache-2.0
// `merlonctl mtls ready`: who still calls in plaintext, and whether STRICT is safe now.

import { Command, Option } from "commander"
import { withSession } from "../connect.js"
import { CommandError, EXIT } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { gapsIn, observedList, type Seen, tellScope } from "../observed/answers-api.js"
import { readinessJson } from "../observed/json.js"
import { readinessText } from "../observed/tables.js"
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
      .option(
        "--window <time>",
        "how long calls must have been observed, and which of them count, as 24h (default: 7d)",
      )
      .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text")),
  )
    .addHelpText("after", EXAMPLES)
    .action((workload: string | undefined, flags: Flags) =>
      withSession(flags, session => run(session, workload, flags)),
    )
}

const EXAMPLES = `
ready: every call of the window came by mutual TLS; waiting: somebody comes in plaintext; unknown: no call was observed, calls
were not observed for the whole window, some were forgotten, or a Pod has no xserver; strict: it is so already.

Exit codes: 0 all are ready or strict, 5 somebody comes in plaintext, 4 unknown for a workload, or no workload was found.

Examples:
  merlonctl mtls ready -n foo
  merlonctl mtls ready httpbin -n foo --window 24h`

async function run(
  session: Parameters<typeof observedList>[0],
  workload: string | undefined,
  flags: Flags,
): Promise<void> {
  const namespace = flags.allNamespaces ? undefined : session.namespace
  const query = new URLSearchParams({ limit: "5000", ...(flags.window === undefined ? {} : { window: flags.window }) })
  const { items, notes } = await observedList(session, { resource: "readiness", namespace, query })
  const list = { items: workload === undefined ? items : items.filter(({ name }) => name === workload), notes }
  if (workload !== undefined && list.items.length === 0) {
    const known = items.map(({ name }) => name).join(", ")
    throw new CommandError(`no workload \`${workload}\` takes calls there; there is ${known || "none"}`)
  }
  tellScope(list, namespace)
  const skipped = gapsIn(list, namespace, "workload that takes calls")
  print(flags.output === "json" ? readinessJson(list.items, skipped) : readinessText(list, Date.now(), skipped))
  process.exitCode = exitCodeFor(list.items, skipped)
}

/** Fail closed: a state that this version does not know is not safe. */
function exitCodeFor(items: readonly Seen[], skipped: readonly string[]): number {
  const isSafe = ({ spec }: Seen): boolean => spec.state === "ready" || spec.state === "strict"
  if (items.some(({ spec }) => spec.state === "waiting")) return EXIT.found
  return skipped.length > 0 || !items.every(isSafe) ? EXIT.undecided : EXIT.ok
}
