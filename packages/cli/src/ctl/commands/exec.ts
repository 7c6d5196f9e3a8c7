// SPDX-License-Identifier: Apache-2.0
// `merlonctl exec`: runs a program as a workload of the local mesh, with its credentials and its address in the
// environment. Its calls go through the proxy of the workload.

import { spawn } from "node:child_process"
import { constants } from "node:os"
import { join } from "node:path"
import { Command } from "commander"
import { childEnvironment } from "../../local/processes/child-environment.js"
import { memberEnvironment } from "../../local/processes/process-plans.js"
import { findPrograms } from "../../local/processes/programs.js"
import { withProxyEnvironment } from "../../local/processes/proxy-environment.js"
import { type DataFlags, dataFolder, recordOrThrow, withDataFlag } from "../../local/record/data-folder.js"
import { workloadFolder } from "../../local/record/mesh-record.js"
import { workloadNamed } from "../../local/runs/workload-named.js"
import { CommandError } from "../exit.js"

interface ExecFlags extends DataFlags {
  readonly namespace?: string
}

export function execCommand(): Command {
  return withDataFlag(
    new Command("exec")
      .description("Run a program with the identity of a workload of the local mesh")
      .argument("<workload>", "name of the workload, or a prefix of it")
      .argument("<program>", "`xclient`, or any program of this machine")
      .argument("[args...]", "its arguments")
      .option("-n, --namespace <name>", "namespace of the workload"),
  )
    .addHelpText("after", EXAMPLES)
    .action((word: string, program: string, args: readonly string[], flags: ExecFlags) =>
      run(word, program, args, flags),
    )
}

const EXAMPLES = `
Examples:
  merlonctl exec consumer -n app -- curl --silent http://httpbin.foo:8000/get
  merlonctl exec consumer -n app -- xclient --print-route
  merlonctl exec consumer -n app -- xclient --expect v1=50,v2=50 100
  merlonctl exec consumer -n app -- sh -c 'echo $POD_NAME $POD_IP'`

async function run(word: string, program: string, args: readonly string[], flags: ExecFlags): Promise<void> {
  const data = dataFolder(flags, process.cwd())
  const { mesh, workloads } = recordOrThrow(data)
  const workload = workloadNamed(workloads, word, flags.namespace)
  const bootstrap = join(workloadFolder(data, workload), "bootstrap.yaml")
  const member = { mesh, instance: workload, place: workload.place, bootstrap }
  // Variables for xclient that the user set are meant for the xclient in this workload.
  const meant = Object.entries(process.env).filter(([name]) => name.startsWith("MERLON_XCLIENT_"))
  const env = childEnvironment(process.env, { ...Object.fromEntries(meant), ...memberEnvironment(member) })
  const xclient = findPrograms().merlond(["xclient", ...args])
  const child =
    program === "xclient"
      ? spawn(xclient.file, [...xclient.args], { env, stdio: "inherit", argv0: xclient.argv0 })
      : spawn(program, [...args], { env: withProxyEnvironment(env, workload.place), stdio: "inherit" })
  // Signals of a terminal reach both processes. A signal that was sent only to us is forwarded.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const) {
    process.on(signal, () => {
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal)
    })
  }
  await new Promise<void>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        error.code === "ENOENT"
          ? new CommandError("not-found", `there is no program \`${program}\` on this machine`)
          : error,
      )
    })
    child.once("exit", (code, signal) => {
      process.exitCode = signal === null ? (code ?? 1) : 128 + (constants.signals[signal] ?? 0)
      resolve()
    })
  })
}
