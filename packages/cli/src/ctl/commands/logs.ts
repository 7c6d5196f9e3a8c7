// SPDX-License-Identifier: Apache-2.0
// `merlonctl logs`: shows the log of a process of the local mesh.

import { existsSync } from "node:fs"
import { Command, Option } from "commander"
import { whole } from "../../arguments.js"
import { followLog, showLog } from "../../local/processes/follow-log.js"
import { CONTROL_PLANE, type Part, processName } from "../../local/processes/process-plans.js"
import { type DataFlags, dataFolder, withDataFlag } from "../../local/record/data-folder.js"
import { logPath, readRecord } from "../../local/record/mesh-record.js"
import { workloadNamed } from "../../local/runs/workload-named.js"
import { CommandError } from "../exit.js"

interface LogsFlags extends DataFlags {
  readonly namespace?: string
  readonly follow: boolean
  readonly tail?: number
  readonly container: Part
}

export function logsCommand(): Command {
  return withDataFlag(
    new Command("logs")
      .description("Show the log of a process of the local mesh")
      .argument("<name>", "a workload, `control-plane`, or `supervisor` of a mesh in the background")
      .option("-n, --namespace <name>", "namespace of the workload")
      .option("-f, --follow", "follow the log", false)
      .addOption(new Option("--tail <n>", "number of lines from the end").argParser(whole(0, 1_000_000)))
      .addOption(
        new Option("-c, --container <which>", "container of a workload: its proxy or its application")
          .choices(["xserver", "app"])
          .default("xserver"),
      ),
  )
    .addHelpText("after", "\nExamples:\n  merlonctl logs httpbin -c app\n  merlonctl logs control-plane --follow")
    .action((name: string, flags: LogsFlags) => run(name, flags))
}

async function run(name: string, flags: LogsFlags): Promise<void> {
  const data = dataFolder(flags, process.cwd())
  const log = logPath(data, logName(name, data, flags))
  if (!existsSync(log))
    throw new CommandError("not-found", `there is no log \`${log}\`; it begins when the process is started`)
  const taken = (bytes: Buffer): Promise<void> =>
    new Promise((resolve, reject) => process.stdout.write(bytes, error => (error ? reject(error) : resolve())))
  const end = await showLog(log, flags.tail, taken)
  if (!flags.follow) return
  const stop = new AbortController()
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort())
  await followLog(log, end, taken, stop.signal)
}

function logName(name: string, data: string, { namespace, container }: LogsFlags): string {
  if (name === CONTROL_PLANE || name === "supervisor") return name
  const record = readRecord(data)
  if (record === undefined)
    throw new CommandError("no-mesh", `no local mesh in \`${data}\`; start one with \`merlonctl up\``)
  return processName(workloadNamed(record.workloads, name, namespace), container)
}
