// SPDX-License-Identifier: Apache-2.0
// `merlonctl test`: runs policy tests with the evaluator that proxies use.

import { writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import { type PolicyTestFile, regionCoverage, runTests } from "@merlon/policy/policy-tests"
import { messageOf } from "@merlon/xds/runtime"
import { Command, Option } from "commander"
import { idOf } from "../answers/cluster-set.js"
import { exitCodeOf, InputLog, type Inputs } from "../answers/inputs.js"
import { type MeshSettings, withMeshSettings } from "../answers/question-flags.js"
import { note, noteOnce } from "../answers/question-source.js"
import { CommandError, EXIT } from "../exit.js"
import { withPolicyMeshFlags } from "../flags.js"
import { findTests } from "../policy-tests/find-tests.js"
import { type FileRun, isPassed, testJunit, testReport, testText } from "../policy-tests/report.js"
import { WatchedFolders } from "../policy-tests/watched-folders.js"
import { print, printError } from "../terminal.js"
import { testGenerateCommand } from "./test-generate.js"

interface Flags extends MeshSettings {
  readonly filter?: string
  readonly watch: boolean
  readonly junit?: string
  readonly output: "text" | "json"
}

export function testCommand(): Command {
  return withMeshSettings(
    withPolicyMeshFlags(
      new Command("test")
        .description("Run policy tests")
        .argument("[paths...]", "files, or folders that are searched for `*.test.yaml`", ["."])
        .option("--filter <text>", "only cases whose file or name contains this text")
        .option("--watch", "run again whenever a file changes", false)
        .option("--junit <file>", "also write the results as JUnit XML")
        .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text")),
    ),
  )
    .addCommand(testGenerateCommand())
    .addHelpText("after", EXAMPLES)
    .action((paths: string[], flags: Flags) => (flags.watch ? keepRunning(paths, flags) : once(paths, flags)))
}

const EXAMPLES = `
Exits with 1 where a test fails, with 4 where none is found or something was skipped that could matter. Nothing has to run:
issuers' keys are stood in for.

Examples:
  merlonctl test
  merlonctl test policies --filter admin --junit results.xml
  merlonctl test policies --watch
  merlonctl test generate policies`

/** `reading` gets the relevant files and folders before they are read, so that a watch misses no change. */
async function once(
  paths: readonly string[],
  flags: Flags,
  reading: (sources: readonly string[]) => void = () => {},
): Promise<void> {
  const { runs, read } = await run(paths, flags, reading)
  if (runs.every(({ results }) => results.length === 0)) {
    const where = paths.map(path => `\`${path}\``).join(", ")
    for (const what of read.skipped) note(`skipped: ${what}`)
    throw new CommandError(
      "no-tests",
      flags.filter === undefined || runs.length === 0
        ? `no policy tests found in ${where}; write one in a file \`NAME.test.yaml\``
        : `no case in ${where} has \`${flags.filter}\` in its name, or in that of its file`,
    )
  }
  if (flags.output === "json") print(JSON.stringify(testReport(runs, read), undefined, 2))
  else print(testText(runs, read, flags.filter === undefined ? "all" : "some"))
  if (flags.junit !== undefined) await writeFile(flags.junit, testJunit(runs, read))
  process.exitCode = exitCodeOf(read, runs.every(isPassed) ? EXIT.ok : EXIT.failed)
}

async function run(
  paths: readonly string[],
  flags: Flags,
  reading: (sources: readonly string[]) => void,
): Promise<{ readonly runs: readonly FileRun[]; readonly read: Inputs }> {
  const now = Math.floor(Date.now() / 1000)
  const log = new InputLog()
  const found = await findTests(paths, { flags, note: noteOnce(), log, reading })
  const runs = found.map(({ file, test, documents, mesh }) => {
    const { filter } = flags
    const results = runTests(filter === undefined ? test : chosen(test, file, filter), documents, mesh, now)
    return { file, name: test.name, ...results, regions: regionCoverage(test, documents, mesh, now, results) }
  })
  const policies = new Set(
    found.flatMap(({ file, documents }) => documents.map(one => `${dirname(file)} ${idOf(one)}`)),
  )
  const workloads = found.reduce((sum, { test }) => sum + test.workloads.size, 0)
  return { runs, read: log.of(policies.size, workloads) }
}

/** The selected cases and invariants. */
function chosen(test: PolicyTestFile, file: string, filter: string): PolicyTestFile {
  if (file.includes(filter)) return test
  const meant = <T extends { readonly name: string }>(some: readonly T[]): T[] =>
    some.filter(({ name }) => name.includes(filter))
  const { never = [], always = [] } = test.invariants
  return { ...test, cases: meant(test.cases), invariants: { never: meant(never), always: meant(always) } }
}

/** Runs one at a time. Changes during a run cause one more run. */
async function keepRunning(paths: readonly string[], flags: Flags): Promise<void> {
  let running: Promise<void> | undefined
  let again = false
  const start = (): void => {
    if (running !== undefined) {
      again = true
      return
    }
    running = once(paths, flags, sources => folders.add(sources))
      .catch((error: unknown) => printError(messageOf(error)))
      .finally(() => {
        running = undefined
        printError("waiting for changes")
        if (again) {
          again = false
          start()
        }
      })
  }
  const folders = new WatchedFolders(start, flags.junit)
  folders.add(paths)
  start()
  await new Promise<void>(resolve => process.once("SIGINT", resolve))
  folders.close()
}
