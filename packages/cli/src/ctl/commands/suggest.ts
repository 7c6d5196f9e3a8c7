// SPDX-License-Identifier: Apache-2.0
// `merlonctl suggest`: suggests least-privilege policies from observed calls, in shadow mode, each with its evidence and
// three proofs.

import { type Suggestion, suggestPolicies } from "@merlon/policy/analysis"
import type { ObservedCall } from "@merlon/policy/ledger"
import type { MeshConfig } from "@merlon/policy/mesh"
import { lastingName, type ProofWorkload } from "@merlon/policy/proof"
import { Command, Option } from "commander"
import { callsInLog } from "../answers/access-log.js"
import { callsIn } from "../answers/calls-file.js"
import { certificateFile } from "../answers/certificate-file.js"
import { exitCodeOf as exitCodeFor, inputLines, isComplete } from "../answers/inputs.js"
import { limitsOf } from "../answers/question-flags.js"
import { note, questionSource, type SourceFlags, withSourceFlags, workloadNamed } from "../answers/question-source.js"
import { recordedCalls } from "../answers/recorded-calls.js"
import { suggestionsJson, suggestionsYaml } from "../answers/suggest-report.js"
import { withSession } from "../connect.js"
import { CommandError, EXIT, usageError } from "../exit.js"
import { readText } from "../read-text.js"
import { print } from "../terminal.js"

interface Flags extends SourceFlags {
  readonly calls?: string
  readonly accessLog?: string
  readonly certificate?: string
  readonly output: "yaml" | "json"
}

export function suggestCommand(): Command {
  return withSourceFlags(
    new Command("suggest")
      .description("Suggest least-privilege policies from observed traffic")
      .argument("[workload]", "name, or namespace/name (default: all workloads with traffic)")
      .option("--calls <file>", "recorded calls as JSON, - for standard input (default: what the mesh has recorded)")
      .option(
        "--access-log <file>",
        "the workload's access log by Envoy, as JSON, - for standard input (needs a workload)",
      )
      .option("--certificate <file>", "write a certificate of the suggestions, which `proof-check` checks")
      .addOption(new Option("-o, --output <format>", "output format").choices(["yaml", "json"]).default("yaml")),
  )
    .addHelpText("after", EXAMPLES)
    .action((word: string | undefined, flags: Flags) => run(word, flags))
}

const EXAMPLES = `
A suggestion is an ALLOW policy in shadow mode: it changes nothing until \`merlonctl promote\`. One that would allow more than
today's policies do is not printed. Exit codes: 0 all proved, 4 not decided, 5 something was left out.

Examples:
  merlonctl suggest httpbin -n foo > suggested.yaml
  merlonctl suggest foo/httpbin --calls calls.json
  merlonctl suggest foo/httpbin --access-log envoy.json -f policies --workloads pods.yaml
  merlonctl suggest --calls calls.json -f policies --workloads pods.yaml > suggested.yaml`

async function run(word: string | undefined, flags: Flags): Promise<void> {
  const named = (among: readonly ProofWorkload[]) =>
    word === undefined ? among : [workloadNamed(word, among, flags.namespace)]
  const about = word === undefined ? undefined : named
  const { policies, workloads, mesh, read } = await questionSource(flags, "workloads", about)
  const chosen = named(workloads)
  const names = new Set(chosen.map(lastingName))
  const calls = (await callsOf(flags, mesh, word === undefined ? [] : chosen)).filter(({ workload }) =>
    names.has(workload),
  )
  const certificate = certificateFile(flags.certificate)
  const options = {
    limits: limitsOf(flags),
    now: Math.floor(Date.now() / 1000),
    suggestions: certificate?.certificate,
  }
  const all = suggestPolicies(calls, policies, workloads, mesh, options)
  if (all.length === 0) {
    throw new CommandError(
      "no-traffic",
      "no allowed calls observed for these workloads yet, so there is nothing to suggest; send traffic, or pass `--calls FILE`",
    )
  }
  const kept = all.filter(isSafe)
  for (const { workload, proofs } of all.filter(one => !isSafe(one))) {
    const [why] = Object.values(proofs).flatMap(proof => (proof.verdict === "refuted" ? [proof.why] : []))
    note(`nothing is suggested for ${lastingName(workload)}: ${why}`)
  }
  print(
    flags.output === "json"
      ? JSON.stringify({ ...suggestionsJson(all, mesh.names), read }, undefined, 2)
      : suggestionsYaml(kept, mesh.names, Date.now()),
  )
  certificate?.finish([policies], mesh, read)
  if (!isComplete(read)) for (const line of inputLines(read)) note(line)
  process.exitCode = exitCodeFor(read, exitCodeOf(all))
}

async function callsOf(
  flags: Flags,
  { dialect }: MeshConfig,
  named: readonly ProofWorkload[],
): Promise<readonly ObservedCall[]> {
  if (flags.accessLog !== undefined) {
    const [workload] = named
    if (workload === undefined)
      throw usageError("name the workload whose log it is: `merlonctl suggest NAMESPACE/NAME`")
    if (flags.calls !== undefined) throw usageError("`--access-log` goes without `--calls`")
    const text = await readText(flags.accessLog, `\`${flags.accessLog}\``, MAX_LOG_BYTES)
    return callsInLog(text, flags.accessLog, lastingName(workload), note)
  }
  if (flags.calls !== undefined) return callsIn(flags.calls)
  if (flags.filename.length > 0)
    throw usageError("with `-f`, name the recorded calls with `--calls FILE`, or a log with `--access-log FILE`")
  if (dialect === "istio") throw usageError("Istio records no calls; name a log of its Envoy with `--access-log FILE`")
  return withSession(flags, session => recordedCalls(session, note))
}

const MAX_LOG_BYTES = 500_000_000

const isSafe = ({ proofs }: Suggestion): boolean => Object.values(proofs).every(({ verdict }) => verdict !== "refuted")

function exitCodeOf(all: readonly Suggestion[]): number {
  if (!all.every(isSafe)) return EXIT.found
  const proved = all.every(({ proofs }) => Object.values(proofs).every(({ verdict }) => verdict === "proved"))
  return proved ? EXIT.ok : EXIT.undecided
}
