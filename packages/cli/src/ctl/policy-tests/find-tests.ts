// SPDX-License-Identifier: Apache-2.0
// Finds policy tests in files, with the policies they test. Every manifest of a folder that contains a PolicyTest is a
// test file, whatever its name; a file without a manifest's extension is reported as skipped.

import { stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { MeshConfig, MeshNames } from "@merlon/policy/mesh"
import { type PolicyTestFile, readTests } from "@merlon/policy/policy-tests"
import { type PolicyDocument, validate } from "@merlon/policy/resources"
import type { Workload } from "@merlon/policy/selection"
import { isTargetingPolicy, notModelled } from "../answers/dialect.js"
import { InputLog } from "../answers/inputs.js"
import { validateTargeting } from "../answers/istio-targets.js"
import { logProviders, logRevisions, meshOfFiles } from "../answers/mesh-of-files.js"
import { logUnread, policiesIn, readSource } from "../answers/policy-files.js"
import type { MeshSettings } from "../answers/question-flags.js"
import { logAtGateways, proxiesIn } from "../answers/question-source.js"
import { logUndated } from "../answers/undated.js"
import { checkInBounds } from "../confinement.js"
import { showFinding } from "../documents/manifests.js"
import { filesIn } from "../documents/sources.js"
import { kindIn } from "../documents/unread-file.js"
import { CommandError } from "../exit.js"
import { readText } from "../read-text.js"

export interface FoundTests {
  readonly file: string
  readonly test: PolicyTestFile
  readonly documents: readonly PolicyDocument[]
  /** The mesh that its policies are written for. */
  readonly mesh: MeshConfig
}

export interface FindOptions {
  readonly flags: MeshSettings
  readonly note: (text: string) => void
  readonly log: InputLog
  /** Called with the files and folders of policies before they are read, and so even if they cannot be read. */
  readonly reading?: (sources: readonly string[]) => void
}

const TEST_NAME = /\.test\.(ya?ml|json)$/i

export async function findTests(paths: readonly string[], options: FindOptions): Promise<readonly FoundTests[]> {
  const found: FoundTests[] = []
  for (const path of paths) {
    for (const file of await testFiles(path, options.log)) found.push(...(await testsIn(file, options)))
  }
  return found
}

async function testFiles(path: string, log: InputLog): Promise<readonly string[]> {
  await checkInBounds(path)
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) throw new CommandError("invalid-document", `there is no \`${path}\``)
  if (!found.isDirectory()) return [path]
  const enters = (folder: string): boolean => folder !== "node_modules" && !folder.startsWith(".")
  const files = await filesIn(path, { recursive: true, enters })
  await logUnread(files, ["PolicyTest"], log)
  const tests: string[] = []
  for (const name of files.manifests) {
    if (TEST_NAME.test(name) || (await kindIn(name, ["PolicyTest"])) !== undefined) tests.push(name)
  }
  return tests
}

async function testsIn(file: string, { flags, note, log, reading }: FindOptions): Promise<readonly FoundTests[]> {
  const text = await readText(file)
  const { files, errors } = readTests(text)
  if (errors.length > 0)
    throw new CommandError("invalid-document", errors.map(error => showFinding(file, text, error)).join("\n"))
  if (files.length === 0) log.skip(`${file}: it holds no PolicyTest`)
  const found: FoundTests[] = []
  for (const test of files) {
    const sources = sourcesOf(test, file)
    reading?.(sources)
    const own = new InputLog()
    const texts = await Promise.all(sources.map(path => readSource(path, own)))
    const written = { name: file, text: test.documents.map(value => JSON.stringify(value)).join("\n---\n") }
    const mesh = await meshOfFiles([written, ...texts.flat()], flags, own, note)
    const policies = { names: mesh.names, namespace: "default", note, log: own }
    const read = sources.map((path, index) => policiesIn(texts[index] ?? [], path, policies))
    const documents = [...inline(test, file, mesh.names, own), ...read.flatMap(one => one.policies)]
    const proxies = proxiesIn(read, mesh, "default")
    const placed = new Map([...test.workloads.values()].map(one => [one, proxies?.placed(one, own) ?? one] as const))
    const workloads = [...placed.values()]
    logProviders(documents, mesh, own)
    logRevisions(texts.flat(), mesh, flags, own)
    logUndated(documents, workloads, mesh, own)
    if (proxies !== undefined) logAtGateways(documents, proxies, workloads, mesh, own, note)
    own.noteMissed(note)
    own.limitTo(workloads, mesh.names.rootNamespace, note)
    log.add(own)
    if (documents.length === 0) log.skip(`${titleOf(file, test)}: no policy was read for it`)
    if (test.workloads.size === 0) log.skip(`${titleOf(file, test)}: it names no workloads, so nothing was tested`)
    found.push({ file, test: withWorkloads(test, placed), documents, mesh })
  }
  return found
}

/** The same tests, about other workloads. */
function withWorkloads(test: PolicyTestFile, by: ReadonlyMap<Workload, Workload>): PolicyTestFile {
  const workloads = new Map([...test.workloads].map(([name, one]) => [name, by.get(one) ?? one] as const))
  const cases = test.cases.map(one => ({ ...one, workload: by.get(one.workload) ?? one.workload }))
  return { ...test, workloads, cases }
}

const titleOf = (file: string, { name }: PolicyTestFile): string => (name === "" ? file : `${file} (${name})`)

function inline(
  { documents }: PolicyTestFile,
  file: string,
  names: MeshNames,
  log: InputLog,
): readonly PolicyDocument[] {
  return documents.flatMap((value, index) => {
    const absent = notModelled(value, names)
    if (absent !== undefined) {
      log.skip(`${file}: documents[${index}]: ${absent.why}`, absent.matters ? absent.scope : () => false)
      return []
    }
    const { document, errors } = isTargetingPolicy(value, names)
      ? validateTargeting(value, names)
      : validate(value, names)
    if (document !== undefined) return [document]
    throw new CommandError(
      "invalid-document",
      errors.map(({ message }) => `${file}: documents[${index}]: ${message}`).join("\n"),
    )
  })
}

/** The policies' sources: the folder of the test by default, none if the test file contains policies. */
function sourcesOf({ policies, documents }: PolicyTestFile, file: string): readonly string[] {
  const paths = policies.length === 0 && documents.length === 0 ? ["."] : policies
  return paths.map(path => join(dirname(file), path))
}
