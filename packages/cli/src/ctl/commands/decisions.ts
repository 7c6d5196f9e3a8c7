// SPDX-License-Identifier: Apache-2.0
// `merlonctl decisions`: shows proxies' decisions, the last ones or live.

import { statusError } from "@merlon/control/kubernetes"
import { Command, Option } from "commander"
import { several, whole } from "../../arguments.js"
import { withSession } from "../connect.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { fieldsOf, textsOf } from "../foreign.js"
import { eventOf } from "../get/watch-event.js"
import { observationOf, observedList, observedPath, printScope, silentNote } from "../observed/answers-api.js"
import { DECISION_HEAD, decisionRow } from "../observed/decision-text.js"
import { decisionLine } from "../observed/json.js"
import { Columns } from "../output/columns.js"
import type { Session } from "../session.js"
import { print, printError } from "../terminal.js"

const TRAITS = ["verdict", "workload", "caller", "policy", "path"] as const

interface Flags extends ClusterFlags {
  readonly allNamespaces: boolean
  readonly follow: boolean
  readonly limit: number
  readonly output: "text" | "json"
  readonly [filter: string]: unknown
}

export function decisionsCommand(): Command {
  const command = withClusterFlags(
    new Command("decisions")
      .description("Show decisions of proxies")
      .option("-A, --all-namespaces", "query all namespaces", false)
      .option("-f, --follow", "show new decisions as they are made", false)
      .addOption(new Option("--limit <number>", "maximum number of decisions").argParser(whole(1, 5_000)).default(50))
      .addOption(
        new Option("-o, --output <format>", "output format; json prints one object per line")
          .choices(["text", "json"])
          .default("text"),
      ),
  )
  for (const trait of TRAITS) {
    command.option(`--${trait} <pattern>`, `${WORDS[trait]}; * matches any text (repeatable)`, several, [])
    command.option(`--not-${trait} <pattern>`, "exclude these", several, [])
  }
  return command
    .addHelpText("after", EXAMPLES)
    .action((flags: Flags) => withSession(flags, session => run(session, flags)))
}

const WORDS: Readonly<Record<(typeof TRAITS)[number], string>> = {
  verdict: "allow or deny",
  workload: "name of a Pod or of its Deployment",
  caller: "an identity, NAMESPACE/ACCOUNT, or an address",
  policy: "policy that decided, as NAMESPACE/NAME",
  path: "path of the request",
}

const PAUSE_MS = 1_000

const EXAMPLES = `
Proxies keep their last thousand decisions. While a client follows, each sends at most 200 a second; how many were left
out is said on standard error.

Examples:
  merlonctl decisions -n foo --verdict deny
  merlonctl decisions -A --follow --not-path '/health*'
  merlonctl decisions -n foo --caller app/consumer -o json`

async function run(session: Session, flags: Flags): Promise<void> {
  const namespace = flags.allNamespaces ? undefined : session.namespace
  const query = filtersOf(flags)
  if (flags.follow) return follow(session, namespace, query, flags.output)
  query.set("limit", String(flags.limit))
  const { items, notes } = await observedList(session, { resource: "decisions", namespace, query })
  const { asked, known } = fieldsOf(notes.proxies)
  if (typeof asked === "number" && typeof known === "number" && asked < known) {
    printError(`note: ${asked} of ${known} proxies were queried; choose a namespace with -n to query others`)
  }
  printScope({ items }, namespace)
  const oldestFirst = [...items].reverse()
  if (flags.output === "json") for (const decision of oldestFirst) print(decisionLine(decision))
  else if (items.length === 0) print("no decisions found")
  else print(new Columns().format([DECISION_HEAD, ...oldestFirst.map(decisionRow)]))
}

async function follow(
  session: Session,
  namespace: string | undefined,
  query: URLSearchParams,
  output: Flags["output"],
): Promise<never> {
  query.set("watch", "true")
  const path = observedPath(session, { resource: "decisions", namespace, query })
  const columns = new Columns()
  // Printed with the first row, which determines the widths of the columns.
  let head: readonly (readonly string[])[] = [DECISION_HEAD]
  let reportedSilent = ""
  for (;;) {
    for await (const line of session.api.lines({ method: "GET", path }, new AbortController().signal)) {
      const { type, object } = eventOf(line)
      if (type === "ERROR") throw statusError(0, object)
      if (type === "ADDED") {
        const observation = observationOf(object)
        print(output === "json" ? decisionLine(observation) : columns.format([...head, decisionRow(observation)]))
        head = []
      } else if (type === "BOOKMARK") {
        const annotations = textsOf(fieldsOf(fieldsOf(object).metadata).annotations)
        const group = `answers.${session.names.domain}`
        const left = Number(annotations[`${group}/left-out`])
        if (left > 0) printError(`note: ${left} more were left out`)
        const silent = annotations[`${group}/silent`] ?? ""
        if (silent !== reportedSilent && silent !== "") printError(silentNote(silent.split(",")))
        reportedSilent = silent
      }
    }
    // A watch ends after a while, and when its control plane stops.
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
}

function filtersOf(flags: Flags): URLSearchParams {
  const query = new URLSearchParams()
  for (const trait of TRAITS) {
    const not = `not${trait.charAt(0).toUpperCase()}${trait.slice(1)}`
    for (const value of listed(flags[trait])) query.append(trait, value)
    for (const value of listed(flags[not])) query.append(`not-${trait}`, value)
  }
  return query
}

function listed(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}
