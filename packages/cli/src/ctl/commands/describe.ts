// SPDX-License-Identifier: Apache-2.0
// `merlonctl describe workload`: shows everything about one workload.

import { Command, Option } from "commander"
import { type QuestionFlags, withQuestionFlags } from "../answers/question-flags.js"
import { withSession } from "../connect.js"
import { usageError } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { describeWorkload } from "../observed/describe-workload.js"
import { workloadJson, workloadText } from "../observed/workload-text.js"
import { print } from "../terminal.js"

interface Flags extends ClusterFlags, QuestionFlags {
  readonly output: "text" | "json"
}

export function describeCommand(): Command {
  return new Command("describe").description("Show everything about a workload").addCommand(workloadCommand())
}

function workloadCommand(): Command {
  return withQuestionFlags(
    withClusterFlags(
      new Command("workload")
        .description("Show its identity, Pods, mTLS modes, policies, possible callers and observed callers")
        .argument("<name>", "name of the workload, of its Deployment, of a Pod or of a Service; or NAMESPACE/NAME")
        .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text")),
    ),
  )
    .addHelpText("after", EXAMPLES)
    .action((word: string, flags: Flags) => run(word, flags))
}

const EXAMPLES = `
The control plane proves who can call the workload; if it has no time, this command does. The output names what you may not query.

Examples:
  merlonctl describe workload httpbin -n foo
  merlonctl describe workload foo/httpbin -o json`

async function run(word: string, flags: Flags): Promise<void> {
  const [first = "", second, ...more] = word.split("/")
  if (more.length > 0 || first === "" || second === "") {
    throw usageError(`name the workload as \`NAME\` or \`NAMESPACE/NAME\`, not \`${word}\``)
  }
  const [namespace, name] = second === undefined ? [flags.namespace, first] : [first, second]
  const scoped = namespace === undefined ? flags : { ...flags, namespace }
  await withSession(scoped, async session => {
    const description = await describeWorkload(session, name, scoped)
    const isJson = flags.output === "json"
    print(isJson ? JSON.stringify(workloadJson(description), undefined, 2) : workloadText(description, Date.now()))
  })
}
