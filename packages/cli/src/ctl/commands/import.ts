// SPDX-License-Identifier: Apache-2.0
// `merlonctl import istio`: converts manifests of Istio to Merlon's, on standard output; changes and losses go to
// standard error. It contacts no cluster and writes no files.

import { type MeshNames, meshNames } from "@merlon/policy/mesh"
import { listItems } from "@merlon/policy/resources"
import { Command } from "commander"
import { parseAllDocuments, stringify } from "yaml"
import { several } from "../../arguments.js"
import { diffText } from "../answers/diff-report.js"
import { readSources } from "../documents/sources.js"
import { CommandError, EXIT } from "../exit.js"
import { withMeshFlags } from "../flags.js"
import { type ImportProof, proofOfImport } from "../import-istio/proof.js"
import { importIstio } from "../import-istio/translate.js"
import { paintError, print, printError, visible } from "../terminal.js"

interface Flags {
  readonly filename: readonly string[]
  readonly recursive: boolean
  readonly mesh: string
  readonly domain: string
}

export function importCommand(): Command {
  const command = new Command("import").description("Convert manifests of another mesh")
  command.addCommand(
    withMeshFlags(new Command("istio").description("Convert Istio manifests, and list what has no equivalent"))
      .option("-f, --filename <path>", "file, folder or - for standard input (repeatable)", several, [])
      .option("-R, --recursive", "read folders recursively", false)
      .addHelpText(
        "after",
        `
Exits with 1 if something has no equivalent. A policy that cannot be converted completely is left out.

Example:
  merlonctl import istio -f manifests/ > merlon.yaml`,
      )
      .action((flags: Flags) => run(flags)),
  )
  return command
}

async function run(flags: Flags): Promise<void> {
  const sources = await readSources(flags.filename, flags.recursive)
  const documents = sources.flatMap(({ name, text }) =>
    parseAllDocuments(text).flatMap(document => {
      const [error] = document.errors
      if (error !== undefined) throw new CommandError("invalid-document", `${name}: ${error.message}`)
      const value: unknown = document.toJS()
      return value === null ? [] : listItems(value).map(item => item.value)
    }),
  )
  const names = meshNames(flags)
  const { documents: imported, remarks } = importIstio(documents, names)
  print(
    imported
      .map(document => stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }))
      .join("---\n")
      .trimEnd(),
  )
  for (const { about, severity, message } of remarks) {
    const word = severity === "lost" ? paintError.red("lost:") : paintError.yellow("changed:")
    printError(`${word} ${visible(about)}: ${visible(message)}`)
  }
  for (const line of provedLines(
    proofOfImport(documents, { documents: imported }, names, { now: nowSeconds() }),
    names,
  ))
    printError(visible(line))
  const lost = remarks.filter(({ severity }) => severity === "lost").length
  printError(`${imported.length} documents kept, ${lost} things lost`)
  if (lost > 0) process.exitCode = EXIT.failed
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

/** The proof about the converted policies, and one request for each difference that omitted parts make. */
function provedLines(proof: ImportProof | undefined, names: MeshNames): readonly string[] {
  if (proof === undefined) return []
  const { diff, workloads, policies, unread } = proof
  const count = workloads.length
  const about = `${policies} ${policies === 1 ? "policy" : "policies"}, ${count} ${count === 1 ? "workload" : "workloads"}`
  const skipped = unread.map(name => `${name}: it cannot be read`)
  if (diff.result === "equal" && skipped.length === 0) return [`proved: every request is decided as before (${about})`]
  const read = { policies, workloads: count, skipped }
  return [`compared with what was (${about}):`, ...diffText({ diff, workloads, names, broken: [], read }).split("\n")]
}
