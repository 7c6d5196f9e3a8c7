// SPDX-License-Identifier: Apache-2.0
// `merlonctl what-can`: exactly what an identity reaches, in words.

import { callersAmong, DocumentsByNamespace, parseSpiffeId, reachOf } from "@merlon/policy"
import { Command, Option } from "commander"
import { limitsOf, meshOf } from "../answers/question-flags.js"
import { questionSource, type SourceFlags, withSourceFlags } from "../answers/question-source.js"
import { reachJson, reachText } from "../answers/reach-report.js"
import { EXIT, usageError } from "../exit.js"
import { print } from "../terminal.js"

interface Flags extends SourceFlags {
  readonly output: "text" | "json"
}

export function whatCanCommand(): Command {
  return withSourceFlags(
    new Command("what-can")
      .description("prove what an identity can reach")
      .argument("<identity>", "ns/NAMESPACE/sa/ACCOUNT, NAMESPACE/ACCOUNT, or with its trust domain in front")
      .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text")),
  )
    .addHelpText("after", EXAMPLES)
    .action((word: string, flags: Flags) => run(word, flags))
}

const EXAMPLES = `
What anybody reaches in plaintext it reaches too; this is about calls with its certificate.

Exit codes: 0 answered, 4 not decided.

Examples:
  merlonctl what-can ns/app/sa/consumer
  merlonctl what-can app/consumer -f policies -f deploy.yaml`

async function run(word: string, flags: Flags): Promise<void> {
  const principal = principalOf(word, flags.trustDomain)
  const { policies, workloads } = await questionSource(flags)
  const mesh = meshOf(flags)
  const selection = new DocumentsByNamespace(policies, mesh)
  const asked = { from: [{ source: { principals: [principal] } }] }
  const options = {
    limits: limitsOf(flags),
    now: Math.floor(Date.now() / 1000),
    callers: callersAmong(workloads, mesh),
  }
  const reached = workloads.map(workload => ({
    workload,
    reach: reachOf(selection.selected(workload).documents, workload, mesh, asked, options),
  }))
  if (flags.output === "json") print(JSON.stringify(reachJson(reached, workloads), undefined, 2))
  else print(reachText(reached, "requests", `${principal} reaches nothing (proved)`))
  if (reached.some(({ reach }) => reach.undecided !== undefined)) process.exitCode = EXIT.undecided
}

function principalOf(word: string, trustDomain: string): string {
  const bare = word.replace(/^spiffe:\/\//, "")
  const parts = bare.split("/")
  const principal =
    parts.length === 2
      ? `${trustDomain}/ns/${parts[0]}/sa/${parts[1]}`
      : bare.startsWith("ns/")
        ? `${trustDomain}/${bare}`
        : bare
  if (parseSpiffeId(`spiffe://${principal}`) === undefined) {
    throw usageError(`\`${word}\` is no identity; write it as ns/NAMESPACE/sa/ACCOUNT`)
  }
  return principal
}
