// SPDX-License-Identifier: Apache-2.0
// `merlonctl analyze`: finds problems of a set of policies that are each valid. Rules without effect are found by proof,
// everything else by heuristics.

import { type CheckedInvariant, callersAmong, checkInvariants } from "@merlon/policy/proof"
import { Command, Option } from "commander"
import { analysisReports } from "../answers/analysis-reports.js"
import { type CertificateFile, certificateFile } from "../answers/certificate-file.js"
import { findingsOf, invariantFindings } from "../answers/findings.js"
import { type FindingsFormat, formatFindings } from "../answers/findings-report.js"
import { exitCodeOf } from "../answers/inputs.js"
import { limitsOf } from "../answers/question-flags.js"
import { type QuestionSource, questionSource, type SourceFlags, withSourceFlags } from "../answers/question-source.js"
import { EXIT } from "../exit.js"
import { print } from "../terminal.js"

interface Flags extends SourceFlags {
  readonly output: FindingsFormat | "openreports"
  readonly failOn: "error" | "warning" | "never"
  readonly certificate?: string
}

export function analyzeCommand(): Command {
  return withSourceFlags(
    new Command("analyze")
      .description("Find dead rules, contradictions and mistakes in a set of policies")
      .addOption(
        new Option("-o, --output <format>", "output format; `github` annotates a pull request")
          .choices(["text", "json", "sarif", "github", "openreports"])
          .default("text"),
      )
      .addOption(
        new Option("--fail-on <severity>", "exit with 5 at this severity or above")
          .choices(["error", "warning", "never"])
          .default("warning"),
      )
      .option("--certificate <file>", "write a certificate of invariants and dead rules, which `proof-check` checks"),
  )
    .addHelpText("after", EXAMPLES)
    .action((flags: Flags) => run(flags))
}

const EXAMPLES = `
With workloads beside the policies, rules without effect are found by proof, and PolicyInvariants are checked.

Exit codes: 0 no findings, 5 findings, 4 an invariant is not decided, something that could matter was skipped, or nothing was
read.

Examples:
  merlonctl analyze
  merlonctl analyze -f policies --workloads deploy.yaml -o sarif
  merlonctl analyze -f policies -f deploy.yaml -o github --fail-on error`

async function run(flags: Flags): Promise<void> {
  const source = await questionSource(flags)
  const { placed, workloads, mesh, read: inputs } = source
  const nothing = placed.length === 0 && flags.filename.length === 0
  const read = nothing ? { ...inputs, skipped: [...inputs.skipped, "the cluster has no policy"] } : inputs
  const certificate = certificateFile(flags.certificate)
  const findings = findingsOf(placed, workloads, mesh, limitsOf(flags), certificate?.certificate)
  const invariants = invariantsOf(source, flags, certificate)
  const stated = invariantFindings(invariants, placed)
  if (flags.output === "openreports")
    print(analysisReports({ placed, findings, invariants, read, now: Math.floor(Date.now() / 1000) }))
  else print(formatFindings([...stated, ...findings], flags.output, read))
  certificate?.finish([source.policies], mesh, read)
  const counting = flags.failOn === "never" ? [] : flags.failOn === "error" ? ["error"] : ["error", "warning"]
  const isFound = [...stated, ...findings].some(({ severity }) => counting.includes(severity))
  const isOpen = flags.failOn !== "never" && stated.length > 0
  process.exitCode = exitCodeOf(read, isFound ? EXIT.found : isOpen ? EXIT.undecided : EXIT.ok)
}

function invariantsOf(
  { policies, workloads, mesh }: QuestionSource,
  flags: Flags,
  certificate: CertificateFile | undefined,
): readonly CheckedInvariant[] {
  const invariants = policies.filter(document => document.kind === "PolicyInvariant")
  const callers = callersAmong(workloads, mesh)
  const options = {
    limits: limitsOf(flags),
    now: Math.floor(Date.now() / 1000),
    callers,
    verdicts: certificate?.certificate,
  }
  return checkInvariants(invariants, policies, workloads, mesh, options)
}
