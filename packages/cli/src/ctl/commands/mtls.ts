// SPDX-License-Identifier: Apache-2.0
// `merlonctl mtls ready`: lists plaintext callers and whether STRICT is safe now.

import { Command, Option } from "commander"
import { withSession } from "../connect.js"
import { CommandError, EXIT } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { gapsIn, type Observation, observedList, printScope } from "../observed/answers-api.js"
import { readinessJson } from "../observed/json.js"
import { readinessText } from "../observed/tables.js"
import { print } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly allNamespaces: boolean
  readonly window?: string
  readonly output: "text" | "json"
}

export function mtlsCommand(): Command {
  return new Command("mtls").description("Query mTLS").addCommand(readyCommand())
}

function readyCommand(): Command {
  return withClusterFlags(
    new Command("ready")
      .description("List plaintext callers, and show whether STRICT is safe now")
      .argument("[workload]", "workload in the namespace (default: all)")
      .option("-A, --all-namespaces", "query all namespaces", false)
      .option("--window <time>", "observation window that is required and counted, as 24h (default: 7d)")
      .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text")),
  )
    .addHelpText("after", EXAMPLES)
    .action((workload: string | undefined, flags: Flags) =>
      withSession(flags, session => run(session, workload, flags)),
    )
}

const EXAMPLES = `
ready: every call in the window used mTLS. waiting: some callers use plaintext. unknown: no call was observed, the window is not
covered, some calls were dropped from the record, or a Pod has no xserver. strict: the workload is STRICT already.

Exit codes: 0 all workloads are ready or strict, 5 some callers use plaintext, 4 a workload is unknown, or none was found.

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
    throw new CommandError("not-found", `no workload \`${workload}\` takes calls there; there is ${known || "none"}`)
  }
  printScope(list, namespace)
  const skipped = gapsIn(list, namespace, "workload that takes calls")
  print(flags.output === "json" ? readinessJson(list.items, skipped) : readinessText(list, Date.now(), skipped))
  process.exitCode = exitCodeFor(list.items, skipped)
}

/** Fail closed: a state that this version does not know is not safe. */
function exitCodeFor(items: readonly Observation[], skipped: readonly string[]): number {
  const isSafe = ({ spec }: Observation): boolean => spec.state === "ready" || spec.state === "strict"
  if (items.some(({ spec }) => spec.state === "waiting")) return EXIT.found
  return skipped.length > 0 || !items.every(isSafe) ? EXIT.undecided : EXIT.ok
}
