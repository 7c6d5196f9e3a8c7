// SPDX-License-Identifier: Apache-2.0
// Policy tests in files: where they are, what they say, and the policies they are about. A file whose name ends in
// `.test.yaml` holds tests; a file that is named outright may be called anything.

import { stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { type MeshNames, type PolicyDocument, type PolicyTestFile, readTests, validate } from "@merlon/policy"
import { readPolicyFiles } from "../answers/policy-files.js"
import { showFinding } from "../documents/manifests.js"
import { filesIn } from "../documents/sources.js"
import { CommandError } from "../exit.js"
import { readText } from "../read-text.js"

export interface FoundTests {
  readonly file: string
  readonly test: PolicyTestFile
  readonly documents: readonly PolicyDocument[]
}

const TEST_NAME = /\.test\.ya?ml$/i

/** `reading` is told of the files and folders of policies before they are read, and so also where they cannot be. */
export async function findTests(
  paths: readonly string[],
  names: MeshNames,
  note: (text: string) => void,
  reading: (sources: readonly string[]) => void = () => {},
): Promise<readonly FoundTests[]> {
  const found: FoundTests[] = []
  for (const path of paths) {
    for (const file of await testFiles(path)) found.push(...(await testsIn(file, names, note, reading)))
  }
  return found
}

async function testFiles(path: string): Promise<readonly string[]> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) throw new CommandError(`there is no \`${path}\``)
  if (!found.isDirectory()) return [path]
  const files = await filesIn(path, true, folder => folder !== "node_modules" && !folder.startsWith("."))
  return files.filter(name => TEST_NAME.test(name))
}

async function testsIn(
  file: string,
  names: MeshNames,
  note: (text: string) => void,
  reading: (sources: readonly string[]) => void,
): Promise<readonly FoundTests[]> {
  const text = await readText(file)
  const { files, faults } = readTests(text)
  if (faults.length > 0) throw new CommandError(faults.map(fault => showFinding(file, text, fault)).join("\n"))
  const found: FoundTests[] = []
  for (const test of files) {
    const sources = sourcesOf(test, file)
    reading(sources)
    const read = await Promise.all(sources.map(path => readPolicyFiles(path, names, "default", note)))
    const documents = [...inline(test, file, names), ...read.flatMap(({ policies }) => policies)]
    found.push({ file, test, documents })
  }
  return found
}

function inline({ documents }: PolicyTestFile, file: string, names: MeshNames): readonly PolicyDocument[] {
  return documents.map((value, index) => {
    const { document, faults } = validate(value, names)
    if (document !== undefined) return document
    throw new CommandError(faults.map(({ message }) => `${file}: documents[${index}]: ${message}`).join("\n"))
  })
}

/** The folder the test stands in, where it names no policies and brings none. */
function sourcesOf({ policies, documents }: PolicyTestFile, file: string): readonly string[] {
  const paths = policies.length === 0 && documents.length === 0 ? ["."] : policies
  return paths.map(path => join(dirname(file), path))
}
