// SPDX-License-Identifier: Apache-2.0
// `merlonctl stop`: stops what `merlonctl run` started. Its Service and policies stay.

import { Command } from "commander"
import { type DataFlags, dataFolder, withDataFlag } from "../../local/record/data-folder.js"
import { lockHolder } from "../../local/record/mesh-lock.js"
import { awaitNoRun } from "../../local/runs/await-run.js"
import { changeRuns, readRuns, runKey, withoutRun } from "../../local/runs/run-spec.js"
import { CommandError } from "../exit.js"
import { print } from "../terminal.js"

interface StopFlags extends DataFlags {
  readonly namespace: string
}

export function stopCommand(): Command {
  return withDataFlag(
    new Command("stop")
      .description("Stop a program that `merlonctl run` started, and remove its workloads from the mesh")
      .argument("<name>", "name given to `merlonctl run`")
      .option("-n, --namespace <name>", "its namespace", "default"),
  )
    .addHelpText("after", "\nExample:\n  merlonctl stop shop -n demo")
    .action((name: string, flags: StopFlags) => run(name, flags))
}

async function run(name: string, flags: StopFlags): Promise<void> {
  const { namespace } = flags
  const data = dataFolder(flags, process.cwd())
  const runs = readRuns(data)
  const found = runs.find(spec => runKey(spec) === runKey({ namespace, name }))
  if (found === undefined) {
    const others = runs.map(spec => `${spec.name} in ${spec.namespace}`).join(", ")
    throw new CommandError(
      "program-failed",
      `\`${name}\` is not running in \`${namespace}\`; ${others === "" ? "no program is running" : `there are ${others}`}`,
    )
  }
  await changeRuns(data, now => withoutRun(now, found))
  if (lockHolder(data) !== undefined) await awaitNoRun(data, found)
  print(`stopped ${name}`)
}
