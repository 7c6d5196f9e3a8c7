// SPDX-License-Identifier: Apache-2.0
// `merlonctl history`: who changed policies and what that newly allowed and denied; whether the entries are as they were
// written; the certificate of a change; and what changed between two moments, as one proved difference.

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { brokenLinks, type HistoryEntry, isEntry, unrecordedChanges } from "@merlon/control/history"
import { ApiError } from "@merlon/control/kubernetes"
import { Command, InvalidArgumentError, Option } from "commander"
import { whole } from "../../arguments.js"
import { withSession } from "../connect.js"
import { CommandError, EXIT, usageError } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { fieldsOf } from "../foreign.js"
import { comparedMoments, comparedText, historyText } from "../history/history-text.js"
import { checkedCertificates, entryName, keptCertificate, writePolicies } from "../history/stored-certificates.js"
import { observedList, observedPath, printScope } from "../observed/answers-api.js"
import type { Session } from "../session.js"
import { print, printError } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly allNamespaces: boolean
  readonly since?: number
  readonly until?: number
  readonly limit: number
  readonly compare: boolean
  readonly verify: boolean
  readonly contains?: string
  readonly certificate?: string
  readonly entry?: string
  readonly policies?: string
  readonly output: "text" | "json"
}

export function historyCommand(): Command {
  const moment = (flags: string, text: string): Option => new Option(flags, text).argParser(readMoment)
  return withClusterFlags(
    new Command("history")
      .description("Show who changed policies, and what that allowed and denied")
      .option("-A, --all-namespaces", "query all namespaces", false)
      .addOption(moment("--since <time>", "only changes since then: 24h, 7d, or a time as 2026-05-01T12:00:00Z"))
      .addOption(moment("--until <time>", "only changes until then (default: now)"))
      .addOption(new Option("--limit <number>", "maximum number of changes").argParser(whole(1, 5_000)).default(50))
      .option("--compare", "prove what changed between --since and --until, as one difference", false)
      .option("--verify", "verify that no entry was changed or removed", false)
      .option("--contains <digest>", "with --verify: an entry with this digest must still be there")
      .option("--certificate <file>", "write the certificate of the newest of these changes, for `proof-check`")
      .option("--entry <entry>", "with --certificate: the change with this entry (7-0a1b2c3d4e5f) or digest instead")
      .option("--policies <folder>", "with --certificate: write the policies before and after, for `proof-check`")
      .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text")),
  )
    .addHelpText("after", EXAMPLES)
    .action((flags: Flags) => withSession(flags, session => run(session, flags)))
}

const EXAMPLES = `
The control plane records changes of AuthorizationPolicies, PeerAuthentications and RequestAuthentications when it admits
them; \`merlond serve --history-entries\` says how many it keeps for each namespace.

Exit codes: 0 done, 5 --compare found requests that are decided differently or --verify found a broken chain or a changed
certificate, 4 not decided or not known, or no certificate is kept.

Examples:
  merlonctl history -n foo --since 24h
  merlonctl history -A --since 24h --compare
  merlonctl history -n foo --verify -o json
  merlonctl history -n foo --certificate change.json --policies change`

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds since the epoch. */
function readMoment(text: string): number {
  const [, number, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const time = number === undefined ? Date.parse(text) : Date.now() - Number(number) * (UNITS[unit] ?? 0)
  // A time without a zone would mean a different moment on each machine.
  const isZoned = number !== undefined || /(?:Z|[+-]\d\d:\d\d)$/.test(text)
  if (!Number.isFinite(time) || !isZoned)
    throw new InvalidArgumentError("must be a length of time as 24h or 7d, or a time as 2026-05-01T12:00:00Z")
  return time
}

async function run(session: Session, flags: Flags): Promise<void> {
  const modes = [flags.compare, flags.verify, flags.certificate !== undefined].filter(isOn => isOn)
  if (modes.length > 1) throw usageError("say `--compare`, `--verify` or `--certificate`, not several of them")
  if (flags.contains !== undefined && !flags.verify) throw usageError("`--contains` needs `--verify`")
  if ((flags.entry ?? flags.policies) !== undefined && flags.certificate === undefined)
    throw usageError("`--entry` and `--policies` need `--certificate`")
  const namespace = flags.allNamespaces ? undefined : session.namespace
  if (flags.verify) return verify(session, namespace, flags)
  if (flags.compare) return compare(session, namespace, flags)
  const { entries } = await listed(session, namespace, flags.since)
  const wanted = entries.filter(({ time }) => flags.until === undefined || Date.parse(time) <= flags.until)
  if (flags.certificate !== undefined) return writeCertificate(session, wanted, flags.certificate, flags)
  const shown = wanted.slice(-flags.limit)
  printScope({ items: shown.map(() => NOTHING) }, namespace)
  if (shown.length < wanted.length)
    printError(`note: ${wanted.length - shown.length} earlier changes are not shown; raise --limit`)
  if (flags.output === "json") print(JSON.stringify(shown, undefined, 2))
  else print(shown.length === 0 ? "no changes found" : historyText(shown))
}

async function writeCertificate(
  session: Session,
  entries: readonly HistoryEntry[],
  path: string,
  { entry: wanted, policies }: Flags,
): Promise<void> {
  const entry = entries.findLast(one => wanted === undefined || [entryName(one), one.digest].includes(wanted))
  if (entry === undefined) {
    const which = wanted === undefined ? "no change" : `no change with the entry \`${wanted}\``
    throw new CommandError("not-found", `${which} found; \`merlonctl history\` lists them`)
  }
  const kept = await keptCertificate(session, entry)
  if (!kept.isUnchanged) {
    const why = `the certificate of entry ${entryName(entry)} was changed after it was written`
    throw new CommandError("not-certified", `no certificate written: ${why}`)
  }
  try {
    writeFileSync(path, kept.text)
    if (policies !== undefined) writePolicies(policies, kept)
  } catch (error) {
    throw usageError(`cannot write the certificate: ${error instanceof Error ? error.message : String(error)}`)
  }
  print(historyText([entry]))
  const folder = policies ?? "FOLDER"
  printError(`check it with: proof-check ${path} --from ${join(folder, "before")} --to ${join(folder, "after")}`)
}

const NOTHING = { namespace: "", name: "", spec: {} }

interface ListedHistory {
  /** Oldest first. */
  readonly entries: readonly HistoryEntry[]
  readonly isComplete: boolean
}

async function listed(session: Session, namespace: string | undefined, since?: number): Promise<ListedHistory> {
  const query = new URLSearchParams({ limit: "5000" })
  // The API takes whole units. Entries that are too early are filtered here.
  if (since !== undefined) query.set("since", `${Math.max(1, Math.ceil((Date.now() - since) / 60_000))}m`)
  const { items, notes } = await observedList(session, { resource: "changes", namespace, query })
  const { enabled } = fieldsOf(notes.history)
  if (enabled !== true && items.length === 0) {
    throw new CommandError("no-history", "the control plane keeps no history; start it with `--history-entries 200`")
  }
  if (enabled !== true) printError("note: the control plane keeps no history any more; these are earlier changes")
  const read = items.flatMap(({ spec }): HistoryEntry[] => (isEntry(spec) ? [spec] : []))
  const { remainingItemCount: more } = fieldsOf(notes.metadata)
  const isComplete = read.length === items.length && !(typeof more === "number" && more > 0)
  if (!isComplete) printError("note: not every change could be read; query one namespace with -n")
  const entries = [...read].reverse().filter(({ time }) => since === undefined || Date.parse(time) >= since)
  return { entries, isComplete }
}

interface ChainResult {
  readonly namespace: string
  readonly entries: number
  readonly first: number | undefined
  readonly newest: string | undefined
  /** How many certificates are kept. */
  readonly certificates: number
  readonly broken: readonly string[]
  readonly unrecorded: readonly string[]
}

async function verify(session: Session, namespace: string | undefined, flags: Flags): Promise<void> {
  const { entries, isComplete } = await listed(session, namespace)
  const namespaces = [...new Set(entries.map(entry => entry.namespace))]
  const results: ChainResult[] = []
  for (const of of namespaces) {
    const chain = entries.filter(entry => entry.namespace === of).sort((a, b) => a.sequence - b.sequence)
    const certificates = await checkedCertificates(session, chain)
    results.push({
      namespace: of,
      entries: chain.length,
      first: chain[0]?.sequence,
      newest: chain.at(-1)?.digest,
      certificates: certificates.kept,
      broken: [...brokenLinks(chain), ...certificates.changed],
      unrecorded: unrecordedChanges(chain),
    })
  }
  const { contains } = flags
  const isMissing = contains !== undefined && !entries.some(({ digest }) => digest === contains)
  if (flags.output === "json")
    print(JSON.stringify({ chains: results, ...(isMissing && { missing: contains }) }, undefined, 2))
  else if (results.length === 0) print("no changes found")
  for (const { namespace: of, entries: count, first, newest, certificates, broken, unrecorded } of flags.output ===
  "json"
    ? []
    : results) {
    const verdict = broken.length === 0 ? "verified" : "BROKEN"
    print(`${of}: ${count} entries from entry ${first} on, ${certificates} certificates, ${verdict}; newest ${newest}`)
    for (const problem of [...broken, ...unrecorded]) print(`  ${problem}`)
  }
  if (isMissing) printError(`no entry has the digest ${contains}: it was removed, or is older than what is kept`)
  if (isMissing || results.some(({ broken }) => broken.length > 0)) process.exitCode = EXIT.found
  else if (!isComplete || results.some(({ unrecorded }) => unrecorded.length > 0)) process.exitCode = EXIT.undecided
}

async function compare(session: Session, namespace: string | undefined, flags: Flags): Promise<void> {
  if (flags.since === undefined) throw usageError("`--compare` needs `--since`, as `--since 24h`")
  // Fails if no history is kept or no control plane answers.
  await listed(session, namespace, flags.since)
  const [since, until] = [flags.since, flags.until ?? Date.now()].map(time => new Date(time).toISOString())
  const body = { spec: { since, ...(flags.until === undefined ? {} : { until }) } }
  const path = observedPath(session, { resource: "diffs", namespace })
  const { status } = fieldsOf(await session.api.request({ method: "POST", path, body }).catch(undecided))
  const compared = comparedMoments(status)
  print(
    flags.output === "json" ? JSON.stringify(status, undefined, 2) : comparedText(compared, since ?? "", until ?? ""),
  )
  const { result, groups } = compared
  if (result === "different") process.exitCode = EXIT.found
  else if (result === "undecided" || groups.some(group => group.undecided !== undefined))
    process.exitCode = EXIT.undecided
}

/** A timeout is also an answer: undecided. */
function undecided(error: unknown): object {
  if (!(error instanceof ApiError) || error.code !== 429) throw error
  return { status: { result: "undecided", groups: [], gaps: [error.message] } }
}
