// SPDX-License-Identifier: Apache-2.0
// `merlonctl mcp`: a server of the Model Context Protocol on standard input and output. Standard output carries the
// protocol and nothing else.

import { realpathSync } from "node:fs"
import { resolve } from "node:path"
import { Command, Option } from "commander"
import { duration, several } from "../../arguments.js"
import { VERSION } from "../../version.js"
import { usageError } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { LineReader } from "../mcp/line-reader.js"
import { QuestionThreads } from "../mcp/question-thread.js"
import { McpServer } from "../mcp/server.js"
import { tools } from "../mcp/tools.js"

interface Flags extends ClusterFlags {
  readonly root: readonly string[]
  readonly cluster: boolean
  readonly timeout: number
}

export function mcpCommand(): Command {
  return withClusterFlags(
    new Command("mcp")
      .description("Answer questions of AI assistants over the Model Context Protocol, on standard input and output")
      .option("--root <folder>", "folder that questions may read (repeatable; default: this one)", several, [])
      .option("--cluster", "also answer about the cluster", false)
      .addOption(
        new Option("--timeout <time>", "how long one question may take").argParser(duration).default(120_000, "2m"),
      ),
  )
    .addHelpText("after", EXAMPLES)
    .action((flags: Flags) => serve(flags))
}

const EXAMPLES = `
Questions read files below the roots and change nothing. Relative paths start at the first root.

Examples:
  merlonctl mcp --root policies
  merlonctl mcp --root . --cluster --context staging`

const MAX_LINE = 4 << 20

async function serve(flags: Flags): Promise<void> {
  const roots = rootsOf(flags.root)
  const { cluster, kubeconfig, context, namespace, mesh, domain, requestTimeout } = flags
  const offered = tools({
    mesh: options({ mesh, domain }),
    cluster: cluster
      ? options({
          kubeconfig: kubeconfig === undefined ? undefined : resolve(kubeconfig),
          context,
          namespace,
          "request-timeout": String(requestTimeout),
        })
      : undefined,
  })
  process.chdir(roots[0] ?? ".")
  const threads = new QuestionThreads({ roots, cluster }, flags.timeout)
  const server = new McpServer({
    tools: offered,
    version: VERSION,
    ask: (words, signal) => threads.ask(words, signal),
    send: message => void process.stdout.write(`${JSON.stringify(message)}\n`),
  })
  const lines = new LineReader(
    MAX_LINE,
    line => server.receive(line),
    () => server.tooLong(MAX_LINE),
  )
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) lines.add(chunk) // no encoding is set, so bytes
  lines.end()
  await server.finished()
}

function rootsOf(given: readonly string[]): readonly string[] {
  // Desktop programs start their servers in the root folder. Users do not mean to share the whole disk.
  if (given.length === 0 && resolve(".") === resolve("/"))
    throw usageError("say which folder questions may read: `--root FOLDER`")
  return (given.length === 0 ? ["."] : given).map(folder => {
    try {
      return realpathSync(folder)
    } catch {
      throw usageError(`there is no folder \`${folder}\``)
    }
  })
}

function options(flags: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [`--${flag}=${value}`]))
}
