// SPDX-License-Identifier: Apache-2.0
// `merlonctl down`: stops a local mesh, whether its supervisor still runs or has crashed. Its state stays.

import { Command } from "commander"
import { describeError } from "../../describe-error.js"
import { GRACE_MS } from "../../local/processes/grace.js"
import { endLeftovers, waitForEnd } from "../../local/processes/leftovers.js"
import { type DataFlags, dataFolder, withDataFlag } from "../../local/record/data-folder.js"
import { lockHolder } from "../../local/record/mesh-lock.js"
import { readRecord, writeRecord } from "../../local/record/mesh-record.js"
import { CommandError } from "../exit.js"
import { print, printError } from "../terminal.js"

/** Longer than the supervisor gives its processes. */
const SUPERVISOR_GRACE_MS = 40_000

export function downCommand(): Command {
  return withDataFlag(new Command("down").description("Stop the local mesh and keep its state"))
    .addHelpText("after", "\nExample:\n  merlonctl down --data /srv/mesh")
    .action((flags: DataFlags) => run(dataFolder(flags, process.cwd())))
}

async function run(data: string): Promise<void> {
  const before = readRecord(data)
  const holder = lockHolder(data)
  if (holder !== undefined) {
    printError(`stopping the mesh of ${data} (pid ${holder.pid})`)
    process.kill(holder.pid, "SIGTERM")
    if (!(await waitForEnd(holder, SUPERVISOR_GRACE_MS))) {
      printError("it does not end by itself; ending it")
      process.kill(holder.pid, "SIGKILL")
      if (!(await waitForEnd(holder, GRACE_MS))) {
        throw new CommandError("process-stuck", `process ${holder.pid} cannot be ended; its machine may need a look`)
      }
    }
  }
  const record = readRecord(data)
  const leftovers = await endLeftovers(record?.processes ?? [], GRACE_MS)
  if (record !== undefined && record.phase !== "stopped") {
    noted(() => writeRecord(data, { ...record, phase: "stopped", processes: [] }))
  }
  if (holder === undefined && leftovers.length === 0) {
    print(`no local mesh is running in ${data}`)
    return
  }
  const stopped = holder === undefined ? leftovers : (before?.processes ?? [])
  print(`stopped ${stopped.map(({ name }) => name).join(", ") || "the supervisor"}`)
  printError(`its state is kept in ${data}; start it again with \`merlonctl up\``)
}

/** Ignores a failure to record the stop, for example on a full disk: the mesh has stopped anyway. */
function noted(write: () => void): void {
  try {
    write()
  } catch (error) {
    printError(`note: that it has stopped is not written down: ${describeError(error)}`)
  }
}
