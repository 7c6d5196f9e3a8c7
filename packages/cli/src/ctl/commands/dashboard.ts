// SPDX-License-Identifier: Apache-2.0
// `merlonctl dashboard`: opens the web console, signed in. The local mesh serves one; for any other cluster this command
// serves it on this machine while it runs, with the kubeconfig's credentials and permissions.

import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { homedir } from "node:os"
import { join } from "node:path"
import { OneTimeCodes } from "@merlon/console/one-time-codes"
import { messageOf } from "@merlon/xds/runtime"
import { Command, Option } from "commander"
import { port } from "../../arguments.js"
import { dataFolder } from "../../local/record/data-folder.js"
import { readRecord } from "../../local/record/mesh-record.js"
import { keptCodes } from "../../serve/console-key.js"
import { serveConsole } from "../../serve/serve-console.js"
import { connectionOf, withSession } from "../connect.js"
import { CommandError } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { linkFile } from "../link-file.js"
import { print, printError } from "../terminal.js"

interface DashboardFlags extends ClusterFlags {
  readonly port?: number
  readonly open: boolean
}

const LOOPBACK = "127.0.0.1"
const USUAL = 7080

export function dashboardCommand(): Command {
  return withClusterFlags(new Command("dashboard").description("Open the web console, signed in"))
    .addOption(new Option("--port <n>", "port to serve the console on (default: 7080, or a free one)").argParser(port))
    .option("--no-open", "print the URL without opening a browser")
    .addHelpText(
      "after",
      "\nExamples:\n  merlonctl dashboard\n  merlonctl dashboard --no-open\n  merlonctl dashboard --context prod --port 8443",
    )
    .action((flags: DashboardFlags) => run(flags))
}

async function run(flags: DashboardFlags): Promise<void> {
  const local = localLink(flags)
  if (local !== undefined) return show(local, flags)
  const connection = connectionOf(flags)
  const names = await withSession(flags, async session => session.names)
  const codes = new OneTimeCodes(randomBytes(32))
  const serve = (at: number) =>
    serveConsole({
      ...{ host: LOOPBACK, port: at, hosts: [], names, connection },
      owner: { codes, connection },
      onError: error => printError(messageOf(error)),
    })
  const served = await serve(flags.port ?? USUAL).catch(error => {
    if (flags.port === undefined) return serve(0)
    throw new CommandError(
      "port-unavailable",
      `cannot listen on port ${flags.port}: ${messageOf(error)}; choose another with --port`,
    )
  })
  if (served === undefined)
    throw new CommandError("not-built", "the console's page was not built; `npm run build` builds it")
  show(link(served.port, codes), flags)
  printError(`The console of ${connection.origin} is served until this ends.`)
  await new Promise<void>(resolve => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve())
  })
  await served.close()
}

/** Undefined if another cluster is selected, or no local mesh runs. */
function localLink({ kubeconfig, context, port }: DashboardFlags): string | undefined {
  const { KUBECONFIG = "", MERLON_DATA } = process.env
  if (kubeconfig !== undefined || context !== undefined || port !== undefined) return undefined
  const data = dataFolder(MERLON_DATA === undefined ? {} : { data: MERLON_DATA }, process.cwd())
  if (KUBECONFIG !== "" && KUBECONFIG !== `${data}/kubeconfig`) return undefined
  const record = readRecord(data)
  const codes = keptCodes(data)
  if (record?.ports.console === undefined || record.phase === "stopped" || codes === undefined) return undefined
  return link(record.ports.console, codes)
}

function link(at: number, codes: OneTimeCodes): string {
  return `http://${LOOPBACK}:${at}/#/sign-in?code=${codes.make()}`
}

function show(address: string, { open }: DashboardFlags): void {
  print(`${address}\n`)
  printError("This link signs in once, within two minutes.")
  if (!open || process.stdout.isTTY !== true) return
  const opener = process.platform === "darwin" ? "open" : "xdg-open"
  // Other users see arguments, so the browser opens a file that only this user can read and that redirects to the link.
  // Users without a desktop open the printed address.
  spawn(opener, [linkFile(join(homedir(), ".cache", "merlon"), address)], { stdio: "ignore", detached: true })
    .once("error", () => undefined)
    .unref()
}
