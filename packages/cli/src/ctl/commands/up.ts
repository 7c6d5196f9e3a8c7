// SPDX-License-Identifier: Apache-2.0
// `merlonctl up`: starts a local mesh on this machine.

import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { meshNames } from "@merlon/policy/mesh"
import { Command, InvalidArgumentError, Option } from "commander"
import { whole } from "../../arguments.js"
import { describeError } from "../../describe-error.js"
import { FormerOption } from "../../former-option.js"
import { counted } from "../../local/counted.js"
import type { LayoutRequest } from "../../local/layout/layout.js"
import { SERVICES } from "../../local/layout/samples.js"
import { LocalMesh } from "../../local/local-mesh.js"
import { isSupervised, reportToParent, startDetached } from "../../local/processes/detach.js"
import { findPrograms, type Programs } from "../../local/processes/programs.js"
import { consoleProgress, type Progress } from "../../local/progress.js"
import { type DataFlags, dataFolder, withDataFlag } from "../../local/record/data-folder.js"
import { lockHolder } from "../../local/record/mesh-lock.js"
import { type MeshRecord, readRecord } from "../../local/record/mesh-record.js"
import { prepareData } from "../../local/record/prepare-data.js"
import { awaitRun } from "../../local/runs/await-run.js"
import { type MeshFile, readMeshFile } from "../../local/runs/mesh-file.js"
import { replaceRuns } from "../../local/runs/run-spec.js"
import { summaryText } from "../../local/summary.js"
import { typedName } from "../../local/typed-name.js"
import { upArguments } from "../../local/up-arguments.js"
import { CommandError } from "../exit.js"
import { withMeshFlags } from "../flags.js"
import { print, printError } from "../terminal.js"

export interface UpFlags extends DataFlags, LayoutRequest {
  readonly mesh: string
  readonly domain: string
  readonly file?: string
  readonly detach: boolean
}

/** A second Ctrl-C within this time counts as the same one, because npm forwards it once more. */
const SAME_SIGNAL_MS = 1_000

const port = whole(1, 65_535)

export function upCommand(): Command {
  const expose = new Option(
    "--expose <service=port>",
    "port for callers outside the mesh, as httpbin.foo=8000; repeatable",
  )
    .argParser(exposedPort)
    .default(new Map(), "httpbin.foo=8000, web.app=80, or the next")
  return withMeshFlags(
    withDataFlag(
      new Command("up")
        .description("Start a mesh on this machine: cluster, control plane, and samples behind a proxy each")
        .option("-d, --detach", "run in the background; stop with `merlonctl down`", false)
        .option("--no-samples", "start without sample workloads")
        .option("--shop", "add a sample shop with steady traffic, one denied edge and one plaintext caller", false)
        .option("--no-shop", "start without the sample shop (default)")
        .option("-f, --file <file>", "YAML file with the workloads to run; also updates a running mesh"),
    ),
  )
    .addOption(new Option("--api-port <n>", "port of the Kubernetes API (default: 7443 or the next)").argParser(port))
    .addOption(
      new Option("--mesh-listen <ip>", "address for proxies of other machines, as 0.0.0.0 (default: 127.0.0.1)"),
    )
    .addOption(new Option("--mesh-port <n>", "port for the proxies (default: 15012 or the next)").argParser(port))
    .addOption(
      new Option("--webhook-port <n>", "port of the admission webhooks (default: 15017 or the next)").argParser(port),
    )
    .addOption(
      new Option("--health-port <n>", "port of health and metrics (default: 15014 or the next)").argParser(port),
    )
    .addOption(new Option("--console-port <n>", "port of the web console (default: 7080 or the next)").argParser(port))
    .addOption(
      new Option("--block <n>", "workloads get addresses 127.N.0.x (default: 1 or the next)").argParser(whole(1, 254)),
    )
    .addOption(expose)
    .addOption(new FormerOption("--way-in <service=port>", expose))
    .addHelpText("after", EXAMPLES)
    .action((flags: UpFlags, command: Command) => run(flags, command))
}

const EXAMPLES = `
Examples:
  merlonctl up
  merlonctl up --shop
  merlonctl up --no-samples --detach
  merlonctl up -f mesh.yaml --detach

A file says what runs:
  workloads:
    - { name: shop, namespace: demo, port: 8080, command: [node, server.js], replicas: 2, expose: 9000 }
  apply: [policies]`

async function run(given: UpFlags, command: Command): Promise<void> {
  const programs = findPrograms()
  const data = dataFolder(given, process.cwd())
  const file = given.file === undefined ? undefined : readMeshFile(given.file, process.env.PATH ?? "")
  const named = withKnownNames(given, command, data)
  const flags = file === undefined ? named : { ...named, samples: named.samples && file.samples }
  // An invalid name is reported before anything starts.
  meshNames(flags)
  if (file !== undefined) {
    prepareData(data)
    await replaceRuns(data, file.runs)
    // A running mesh needs no second supervisor. It takes over the contents of the file.
    if (lockHolder(data) !== undefined) return finish(file, data, programs)
  }
  if (!flags.detach)
    return isSupervised(process.env) ? supervise(flags, data, programs) : stand(flags, data, programs, file)
  const began = Date.now()
  const progress = consoleProgress()
  try {
    await startDetached({ data, programs, args: upArguments(flags, data), progress })
  } finally {
    progress.end()
  }
  if (file !== undefined) await finish(file, data, programs)
  const record = readRecord(data)
  if (record !== undefined) showSummary(record, data, programs, began)
  printError(`It runs in the background; \`${typed(programs)} down\` stops it.`)
}

/** Does what the file contains beyond the start: waits for its programs, then applies its documents. */
async function finish({ runs, apply }: MeshFile, data: string, programs: Programs): Promise<void> {
  const outcomes = await Promise.all(runs.map(async spec => ({ spec, ...(await awaitRun(data, spec)) })))
  for (const { key, phase } of outcomes) if (phase === "ready") printError(`${key} ready`)
  const failed = outcomes.filter(({ phase }) => phase === "failed")
  if (failed.length > 0)
    throw new CommandError(
      "program-failed",
      failed.map(({ key, why }) => `${key} does not run: ${why ?? ""}`).join("\n"),
    )
  if (apply.length === 0) return
  const { file, args, argv0 } = programs.merlonctl(["apply", ...apply.flatMap(path => ["-f", path])])
  const env = { ...process.env, KUBECONFIG: join(data, "kubeconfig") }
  const { status } = spawnSync(file, [...args], { argv0, env, stdio: ["ignore", "inherit", "inherit"] })
  if (status !== 0) throw new CommandError("rejected", "not everything that the file names could be applied")
}

/** Uses the stored name of the mesh, because its stored objects contain it. */
function withKnownNames(flags: UpFlags, command: Command, data: string): UpFlags {
  const before = readRecord(data)
  if (before === undefined) return flags
  for (const name of ["mesh", "domain"] as const) {
    if (command.getOptionValueSource(name) === "default" || flags[name] === before[name]) continue
    throw new CommandError(
      "data-in-use",
      `\`${data}\` holds the mesh \`${before.mesh}\` of \`${before.domain}\`; choose another place with \`--data\``,
    )
  }
  return { ...flags, mesh: before.mesh, domain: before.domain }
}

/** Runs in the foreground, for a user. */
async function stand(flags: UpFlags, data: string, programs: Programs, file?: MeshFile): Promise<void> {
  const began = Date.now()
  const progress = consoleProgress()
  const mesh = new LocalMesh({ ...flags, data, programs, progress })
  const stopping = stopOnSignals(mesh, progress)
  try {
    const record = await mesh.start()
    progress.end()
    if (file !== undefined) await finish(file, data, programs)
    showSummary(record, data, programs, began)
    printError("Ctrl-C stops everything.")
  } catch (error) {
    progress.end()
    if (!stopping()) throw error
  }
}

/** Runs in the background: the parent shows the progress, and the log keeps it. */
async function supervise(flags: UpFlags, data: string, programs: Programs): Promise<void> {
  const written = consoleProgress()
  const progress: Progress = event => {
    written(event)
    void reportToParent(event.kind, event.text)
  }
  try {
    const mesh = new LocalMesh({ ...flags, data, programs, progress })
    stopOnSignals(mesh, progress)
    await mesh.start()
    await reportToParent("ready", "")
    if (process.connected) process.disconnect()
  } catch (error) {
    await reportToParent("failed", describeError(error))
    if (process.connected) process.disconnect()
    throw error
  }
}

/** Returns a function that tells whether a signal has asked us to stop. */
function stopOnSignals(mesh: LocalMesh, progress: Progress): () => boolean {
  let asked: number | undefined
  const stop = (): void => {
    const now = Date.now()
    // A second signal exits at once. Processes that still run end with their supervisor.
    if (asked !== undefined && now - asked > SAME_SIGNAL_MS) process.exit(1)
    if (asked !== undefined) return
    asked = now
    progress({ kind: "begin", text: "stopping" })
    mesh.stop().then(
      count => {
        progress({
          kind: "done",
          text: `stopped ${counted(count, "process", "processes")}; the next \`up\` goes on from here`,
        })
        process.exit(0)
      },
      (error: unknown) => {
        progress({ kind: "trouble", text: describeError(error) })
        process.exit(1)
      },
    )
  }
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop)
  return () => asked !== undefined
}

function showSummary(record: MeshRecord, data: string, programs: Programs, began: number): void {
  const seconds = Math.round((Date.now() - began) / 100) / 10
  printError(`${record.mesh} is up after ${seconds} s.`)
  print(summaryText(record, { data, cwd: process.cwd(), merlonctl: typed(programs), samples: programs.samples }))
}

function typed({ typed: words }: Programs): string {
  return typedName(words, process.cwd(), process.env.PATH ?? "")
}

function exposedPort(text: string, before: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const [service = "", number = ""] = text.split("=")
  const known = SERVICES.map(({ name, namespace }) => `${name}.${namespace}`)
  if (!known.includes(service)) throw new InvalidArgumentError(`must be one of ${known.join(", ")}, with a port`)
  return new Map(before).set(service, port(number))
}
