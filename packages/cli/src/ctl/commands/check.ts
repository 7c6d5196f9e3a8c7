// SPDX-License-Identifier: Apache-2.0
// `merlonctl check`: the health of the whole mesh, one line per check, with what to do next. Its exit code is for
// pipelines: a check that could not run counts as failed.

import { Command, Option } from "commander"
import type { ExitCode } from "../../errors.js"
import { withSession } from "../connect.js"
import { EXIT } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { checkMesh } from "../health/check-mesh.js"
import type { Checked } from "../health/checked.js"
import { healthReport } from "../health/health-report.js"
import { formatObject } from "../output/objects.js"
import { paint, print, visible } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly output?: "json" | "yaml" | "openreports"
}

export function checkCommand(): Command {
  return withClusterFlags(new Command("check").description("Check mesh health, and show how to fix problems"))
    .addOption(new Option("-o, --output <format>", "output format").choices(["json", "yaml", "openreports"]))
    .addHelpText("after", EXAMPLES)
    .action((flags: Flags) => withSession(flags, async session => report(await checkMesh(session), flags)))
}

const EXAMPLES = `
Exit codes: 0 healthy, 1 a problem was found, 3 no API server, 4 no problem was found but something could not be checked.

Examples:
  merlonctl check
  merlonctl check -o json
  merlonctl check -o openreports | kubectl apply -f -`

function report(checks: readonly Checked[], { output }: Flags): void {
  if (output === undefined) print(checkText(checks))
  else if (output === "openreports") print(healthReport(checks, Math.floor(Date.now() / 1000)))
  else print(checkObject(checks, output))
  process.exitCode = checkExitCode(checks)
}

export function checkObject(checks: readonly Checked[], output: "json" | "yaml"): string {
  // `told` is the former name of `detail`, kept for one version.
  const withAlias = checks.map(check => ({ ...check, told: check.detail }))
  return formatObject(output, { well: checkExitCode(checks) === EXIT.ok, checks: withAlias })
}

export function checkExitCode(checks: readonly Checked[]): ExitCode {
  const has = (wanted: Checked["verdict"]): boolean => checks.some(({ verdict }) => verdict === wanted)
  if (has("wrong")) return EXIT.failed
  return has("unknown") ? EXIT.undecided : EXIT.ok
}

const MARKS = { well: "✓", wrong: "✗", unknown: "?", note: "·" } as const

export function checkText(checks: readonly Checked[]): string {
  return checks
    .map(({ verdict, what, detail, next }) => {
      const mark = verdict === "wrong" ? paint.red(MARKS[verdict]) : MARKS[verdict]
      const line = `${mark} ${what.padEnd(WIDTH)}  ${visible(detail)}`
      return next === undefined ? line : `${line}\n${" ".repeat(WIDTH + 4)}${visible(next)}`
    })
    .join("\n")
}

const WIDTH = "invariants".length
