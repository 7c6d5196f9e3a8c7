// SPDX-License-Identifier: Apache-2.0
// `merlonctl run`: runs any local program as a workload of the local mesh, behind its own proxy.

import { Command, InvalidArgumentError, Option } from "commander"
import { several, whole } from "../../arguments.js"
import { FormerOption } from "../../former-option.js"
import { type DataFlags, dataFolder, recordOrThrow, withDataFlag } from "../../local/record/data-folder.js"
import { readRecord } from "../../local/record/mesh-record.js"
import { awaitRun } from "../../local/runs/await-run.js"
import { checkRunName, runSpec } from "../../local/runs/run-request.js"
import { changeRuns, digestOf, type RunProbe, type RunSpec, serviceOf, withRun } from "../../local/runs/run-spec.js"
import { CommandError } from "../exit.js"
import { print, printError, visibleLines } from "../terminal.js"
import { labels, PROTOCOLS } from "../workload/parse-flags.js"

interface RunFlags extends DataFlags {
  readonly namespace: string
  readonly port: number
  readonly protocol: string
  readonly label: { readonly [name: string]: string }
  readonly replicas: number
  readonly serviceAccount?: string
  readonly servicePort?: number
  readonly expose?: number
  readonly env: readonly string[]
  readonly listensOn?: string
  readonly probe: RunProbe
}

const port = whole(1, 65_535)

export function runCommand(): Command {
  const expose = new Option("--expose <n>", "port of this machine for callers outside the mesh").argParser(port)
  return withDataFlag(
    new Command("run")
      .description("Run a program in the local mesh, behind a proxy. Run it again to change its settings")
      .argument("<name>", "name of the workload")
      .argument(
        "<command...>",
        "the program and its arguments, after `--`; {host} and {port} stand for where to listen",
      )
      .option("-n, --namespace <name>", "namespace; created if missing", "default")
      .addOption(new Option("-p, --port <n>", "port it listens on").argParser(port).makeOptionMandatory())
      .addOption(new Option("--protocol <name>", "protocol of the port").choices(PROTOCOLS).default("http"))
      .option("-l, --label <labels>", "labels, as app=web,version=v2; repeatable", labels, {})
      .addOption(new Option("--replicas <n>", "number of replicas").argParser(whole(1, 50)).default(1))
      .option("--service-account <name>", "its identity (default: the label app, else its name)")
      .addOption(new Option("--service-port <n>", "port of its Service (default: --port)").argParser(port))
      .addOption(expose)
      .addOption(new FormerOption("--way-in <n>", expose))
      .addOption(
        new Option("-e, --env <name=value>", "environment variable; repeatable").argParser(several).default([], "none"),
      )
      .option("--listens-on <ip>", "address it listens on, if not the one in HOST and {host}")
      .addOption(
        new Option("--probe <how>", "readiness probe: tcp, http:/path, or command:PROGRAM ARGS")
          .argParser(probe)
          .default({ kind: "tcp" }, "tcp"),
      ),
  )
    .addHelpText("after", EXAMPLES)
    .action((name: string, command: readonly string[], flags: RunFlags) => run(name, command, flags))
}

const EXAMPLES = `
Examples:
  merlonctl run shop -n demo --port 8080 --expose 9000 -- python3 -m http.server {port} --bind {host}
  merlonctl run shop-v2 -n demo --port 8080 --label app=shop,version=v2 --replicas 2 -- node server.js
  merlonctl logs shop-1 -c app
  merlonctl stop shop -n demo`

async function run(name: string, command: readonly string[], flags: RunFlags): Promise<void> {
  const data = dataFolder(flags, process.cwd())
  const { phase } = recordOrThrow(data)
  if (phase !== "ready")
    throw new CommandError("not-ready", `the mesh is ${phase}; wait until \`merlonctl status\` says ready`)
  checkRunName(name, flags.namespace)
  const { env, label, ...rest } = flags
  const spec = runSpec({
    ...rest,
    name,
    labels: label,
    command,
    cwd: process.cwd(),
    // Programs are found through the user's PATH.
    env: { PATH: process.env.PATH ?? "", ...variables(env) },
  })
  await changeRuns(data, runs => withRun(runs, spec))
  printError(`starting ${name} in ${spec.namespace}`)
  const { phase: outcome, why } = await awaitRun(data, spec)
  if (outcome === "failed") {
    // A run that failed is removed, so that the next start does not retry it.
    await changeRuns(data, runs => runs.filter(other => digestOf(other) !== digestOf(spec)))
    throw new CommandError("program-failed", `\`${name}\` does not run: ${visibleLines(why ?? "")}`)
  }
  report(data, spec)
}

function report(data: string, spec: RunSpec): void {
  const { namespace, name, replicas, wayIn } = spec
  const instances = Array.from({ length: replicas }, (_, index) => `${name}-${index + 1}`)
  const workloads = readRecord(data)?.workloads ?? []
  for (const { name: instance, place } of workloads.filter(
    found => found.namespace === namespace && instances.includes(found.name),
  )) {
    print(`workload/${instance} ready, its proxy at ${place.address}:${place.xserver}`)
  }
  print(`service/${serviceOf(spec)} in ${namespace} at port ${spec.servicePort}`)
  if (wayIn !== undefined) print(`callers from outside reach it at http://127.0.0.1:${wayIn}`)
}

function probe(text: string): RunProbe {
  if (text === "tcp") return { kind: "tcp" }
  const [, kind, rest = ""] = /^(http|command):(.+)$/s.exec(text) ?? []
  if (kind === "http" && rest.startsWith("/")) return { kind, path: rest }
  const words = rest.split(/\s+/).filter(word => word !== "")
  if (kind === "command" && words.length > 0) return { kind, command: words }
  throw new InvalidArgumentError("must be `tcp`, `http:/path` or `command:PROGRAM ARGS`")
}

function variables(texts: readonly string[]): { readonly [name: string]: string } {
  return Object.fromEntries(
    texts.map(text => {
      const at = text.indexOf("=")
      if (at < 1) throw new CommandError("usage", `\`${text}\` is no variable; write it as NAME=value`)
      return [text.slice(0, at), text.slice(at + 1)]
    }),
  )
}
