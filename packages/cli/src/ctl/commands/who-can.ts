// SPDX-License-Identifier: Apache-2.0
// `merlonctl who-can`: exactly which callers a workload allows, in words.

import { callersAmong, DocumentsByNamespace, type ProofWorkload, reachOf } from "@merlon/policy/proof"
import { Command, Option } from "commander"
import { several, whole } from "../../arguments.js"
import { certificateFile } from "../answers/certificate-file.js"
import { limitsOf } from "../answers/question-flags.js"
import { questionSource, type SourceFlags, withSourceFlags, workloadNamed } from "../answers/question-source.js"
import { isProved, reachJson, reachText } from "../answers/reach-report.js"
import { EXIT } from "../exit.js"
import { print } from "../terminal.js"

interface Flags extends SourceFlags {
  readonly method: readonly string[]
  readonly path: readonly string[]
  readonly host: readonly string[]
  readonly port?: number
  readonly certificate?: string
  readonly output: "text" | "json"
}

export function whoCanCommand(): Command {
  return withSourceFlags(
    new Command("who-can")
      .description("Prove who can reach a workload")
      .argument("<workload>", "name, or namespace/name")
      .option("--method <method>", "method (repeatable)", several, [])
      .option("--path <path>", "path or pattern, as /admin/* (repeatable)", several, [])
      .option("--host <host>", "host (repeatable)", several, [])
      .addOption(new Option("--port <port>", "port of the workload").argParser(whole(1, 65_535)))
      .option("--certificate <file>", "write a certificate of the answer, which `proof-check` checks")
      .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text")),
  )
    .addHelpText("after", EXAMPLES)
    .action((word: string, flags: Flags) => run(word, flags))
}

const EXAMPLES = `
Exit codes: 0 proved, 4 not decided, or something was skipped that could matter.

Examples:
  merlonctl who-can foo/httpbin --method GET --path '/admin/*'
  merlonctl who-can httpbin -f policies -f deploy.yaml -o json`

async function run(word: string, flags: Flags): Promise<void> {
  const named = (among: readonly ProofWorkload[]) => workloadNamed(word, among, flags.namespace)
  const { policies, workloads, mesh, read } = await questionSource(flags, "policies", among => [named(among)])
  const workload = named(workloads)
  const { method: methods, path: paths, host: hosts, port } = flags
  const operation = {
    ...(methods.length > 0 ? { methods } : {}),
    ...(paths.length > 0 ? { paths } : {}),
    ...(hosts.length > 0 ? { hosts } : {}),
    ...(port === undefined ? {} : { ports: [String(port)] }),
  }
  const request = Object.keys(operation).length === 0 ? {} : { to: [{ operation }] }
  const { documents } = new DocumentsByNamespace(policies, mesh).selected(workload)
  const certificate = certificateFile(flags.certificate)
  const options = {
    limits: limitsOf(flags),
    now: Math.floor(Date.now() / 1000),
    callers: callersAmong(workloads, mesh),
    reaches: certificate?.certificate,
  }
  const reached = [{ workload, reach: reachOf(documents, workload, mesh, request, options) }]
  if (flags.output === "json") print(JSON.stringify(reachJson(reached, { workloads, mesh, read }), undefined, 2))
  else print(reachText(reached, "callers", "no caller can", read))
  certificate?.finish([policies], mesh, read)
  if (!isProved(reached, read)) process.exitCode = EXIT.undecided
}
