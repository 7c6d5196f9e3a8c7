// SPDX-License-Identifier: Apache-2.0
// `merlonctl status`: shows the local mesh. Exit code 1 if something is wrong.

import { Command } from "commander"
import { type DataFlags, dataFolder, recordOrThrow, withDataFlag } from "../../local/record/data-folder.js"
import { isWell, type MeshStatus, meshStatus } from "../../local/record/mesh-status.js"
import { EXIT } from "../exit.js"
import { outputOption } from "../flags.js"
import { Columns } from "../output/columns.js"
import { formatObject } from "../output/objects.js"
import { paint, print, visible } from "../terminal.js"
import { age } from "../workload/age.js"

interface StatusFlags extends DataFlags {
  readonly output?: "json" | "yaml"
}

export function statusCommand(): Command {
  return withDataFlag(new Command("status").description("Show the local mesh"))
    .addOption(outputOption(["json", "yaml"]))
    .addHelpText("after", "\nExamples:\n  merlonctl status\n  merlonctl status --output json")
    .action((flags: StatusFlags) => run(flags))
}

async function run(flags: StatusFlags): Promise<void> {
  const data = dataFolder(flags, process.cwd())
  const status = await meshStatus(data, recordOrThrow(data))
  if (flags.output === undefined) print(formatStatus(status, Date.now()))
  else print(formatObject(flags.output, { ...status }))
  if (!isWell(status)) process.exitCode = EXIT.failed
}

export function formatStatus(status: MeshStatus, now: number): string {
  const { phase, supervisor, mesh, domain, controlPlane, ingressPorts, data } = status
  const named = mesh === "merlon" && domain === "merlon.dev" ? mesh : `${mesh} (${domain})`
  const state = controlPlane.ready ? "ready" : `not ready: ${visible(controlPlane.reason ?? "")}`
  const crashed = phase === "crashed" ? "; its supervisor is gone: `merlonctl up` starts it again" : ""
  return [
    `mesh            ${named}, ${phase}${crashed}`,
    `control plane   ${state}, API ${controlPlane.api}`,
    ...ingressPorts.map(({ service, port }) => `${service.padEnd(15)} http://127.0.0.1:${port}`),
    `data            ${data} (pid ${supervisor})`,
    "",
    table([
      ["NAMESPACE", "WORKLOAD", "READY", "ADDRESS", "REVISION", "POLICIES", "CERTIFICATE"],
      ...status.workloads.map(({ namespace, name, ready, reason, address, revision, policies, certificateExpires }) => [
        namespace,
        name,
        ready ? "yes" : `no: ${visible(reason ?? "")}`,
        address,
        String(revision ?? "-"),
        String(policies ?? "-"),
        certificateExpires === undefined ? "-" : `until ${certificateExpires.slice(0, 19)}Z`,
      ]),
    ]),
    table([
      ["PROCESS", "PID", "RUNNING", "AGE", "RESTARTS"],
      ...status.processes.map(({ name, pid, running, since, restarts }) => [
        name,
        String(pid),
        running ? "yes" : "no",
        running ? age(since, now) : "-",
        String(restarts),
      ]),
    ]),
  ].join("\n")
}

function table(rows: readonly (readonly string[])[]): string {
  if (rows.length === 1) return ""
  const [head = "", ...body] = new Columns().format(rows).split(/(?<=\n)/)
  return `${paint.bold(head.trimEnd())}\n${body.join("")}`
}
