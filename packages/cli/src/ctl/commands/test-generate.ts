// SPDX-License-Identifier: Apache-2.0
// `merlonctl test generate`: writes missing cases of policy tests, for regions of the decision that no case covers.

import { access, writeFile } from "node:fs/promises"
import { casesIn, generatedTest, regionCoverage, runTests } from "@merlon/policy/policy-tests"
import { Command } from "commander"
import { stringify } from "yaml"
import { InputLog, isComplete } from "../answers/inputs.js"
import { type MeshSettings, withMeshSettings } from "../answers/question-flags.js"
import { note, noteOnce } from "../answers/question-source.js"
import { CommandError, EXIT } from "../exit.js"
import { withPolicyMeshFlags } from "../flags.js"
import { findTests } from "../policy-tests/find-tests.js"
import { print, printError } from "../terminal.js"

interface Flags extends MeshSettings {
  readonly write: boolean
}

export function testGenerateCommand(): Command {
  return withMeshSettings(
    withPolicyMeshFlags(
      new Command("generate")
        .description(
          "Write missing test cases: for each rule one that it decides, and one that each of its fields excludes",
        )
        .argument("[paths...]", "files, or folders that are searched for `*.test.yaml`", ["."])
        .option("--write", "write files `NAME.generated.test.yaml` beside the tests instead of printing", false),
    ),
  )
    .addHelpText("after", EXAMPLES)
    .action((paths: string[], flags: Flags) => run(paths, flags))
}

const EXAMPLES = `
What is expected is what happens now, so read a case before you keep it. A file that exists is not written over.

Examples:
  merlonctl test generate policies
  merlonctl test generate policies --write`

async function run(paths: readonly string[], flags: Flags): Promise<void> {
  const now = Math.floor(Date.now() / 1000)
  const log = new InputLog()
  const made = new Map<string, string[]>()
  const covered = (await findTests(paths, { flags, note: noteOnce(), log })).map(({ file, test, documents, mesh }) => {
    const regions = regionCoverage(test, documents, mesh, now, runTests(test, documents, mesh, now))
    return { file, test, regions }
  })
  // Two files may test the same policies. A region that one file covers is missing in none, and a missing one is
  // written once.
  const had = new Set(
    covered.flatMap(({ regions }) => regions.flatMap(({ region, touched }) => (touched > 0 ? [region.id] : []))),
  )
  for (const { file, test, regions } of covered) {
    const missing = regions.filter(({ region }) => !had.has(region.id))
    for (const { region } of missing) had.add(region.id)
    const document = generatedTest(test, missing.flatMap(casesIn))
    if (document === undefined) continue
    const target = `${file.replace(/(\.test)?\.(ya?ml|json)$/i, "")}.generated.test.yaml`
    made.set(target, [...(made.get(target) ?? []), stringify(document, { lineWidth: 0 })])
  }
  const skipped = log.of(0, 0)
  for (const what of skipped.skipped) note(`skipped: ${what}`)
  if (covered.length === 0 || !isComplete(skipped)) process.exitCode = EXIT.undecided
  if (covered.length === 0) printError(`no policy test is found in ${paths.join(", ")}`)
  else if (made.size === 0)
    printError("nothing is missing: every region of the decision is touched by some case, or cannot be")
  for (const [target, texts] of made) {
    if (flags.write) await writeNew(target, texts.join("---\n"))
    else print(`# ${target}\n${texts.join("---\n")}`.trimEnd())
  }
}

async function writeNew(target: string, text: string): Promise<void> {
  const exists = await access(target).then(
    () => true,
    () => false,
  )
  if (exists)
    throw new CommandError("file-exists", `\`${target}\` exists; remove it, or leave out \`--write\` to print`)
  await writeFile(target, text)
  print(target)
}
