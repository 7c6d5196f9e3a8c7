// SPDX-License-Identifier: Apache-2.0
// `merlonctl what-can`: exactly what an identity can reach, in words.

import { callersAmong, DocumentsByNamespace, reachOf } from "@merlon/policy/proof"
import { Command, Option } from "commander"
import { certificateFile } from "../answers/certificate-file.js"
import { principalOf } from "../answers/principal.js"
import { limitsOf } from "../answers/question-flags.js"
import { questionSource, type SourceFlags, withSourceFlags } from "../answers/question-source.js"
import { isProved, reachJson, reachText } from "../answers/reach-report.js"
import { EXIT } from "../exit.js"
import { print } from "../terminal.js"

interface Flags extends SourceFlags {
  readonly certificate?: string
  readonly output: "text" | "json"
}

export function whatCanCommand(): Command {
  return withSourceFlags(
    new Command("what-can")
      .description("Prove what an identity can reach")
      .argument("<identity>", "ns/NAMESPACE/sa/ACCOUNT, NAMESPACE/ACCOUNT, or with its trust domain in front")
      .option("--certificate <file>", "write a certificate of the answer, which `proof-check` checks")
      .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text")),
  )
    .addHelpText("after", EXAMPLES)
    .action((word: string, flags: Flags) => run(word, flags))
}

const EXAMPLES = `
The answer is about calls with its certificate. It can also make every call that is allowed in plaintext.

Exit codes: 0 proved, 4 not decided, or something was skipped that could matter.

Examples:
  merlonctl what-can ns/app/sa/consumer
  merlonctl what-can app/consumer -f policies -f deploy.yaml`

async function run(word: string, flags: Flags): Promise<void> {
  const { policies, workloads, mesh, read } = await questionSource(flags)
  const principal = principalOf(word, mesh.trustDomain)
  const selection = new DocumentsByNamespace(policies, mesh)
  const caller = { from: [{ source: { principals: [principal] } }] }
  const certificate = certificateFile(flags.certificate)
  const options = {
    limits: limitsOf(flags),
    now: Math.floor(Date.now() / 1000),
    callers: callersAmong(workloads, mesh),
    reaches: certificate?.certificate,
  }
  // With files, `-n` is the namespace of documents that name none. With a cluster, it is the namespace to query.
  const near = (place: string): boolean => flags.filename.length > 0 || (flags.namespace ?? place) === place
  const reached = workloads
    .filter(({ namespace }) => near(namespace))
    .map(workload => ({
      workload,
      reach: reachOf(selection.selected(workload).documents, workload, mesh, caller, options),
    }))
  if (flags.output === "json") print(JSON.stringify(reachJson(reached, { workloads, mesh, read }), undefined, 2))
  else print(reachText(reached, "requests", `${principal} reaches nothing`, read))
  certificate?.finish([policies], mesh, read)
  if (!isProved(reached, read)) process.exitCode = EXIT.undecided
}
