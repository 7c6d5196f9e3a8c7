// SPDX-License-Identifier: Apache-2.0
// `merlonctl diff`: what a policy change newly allows or denies, by proof. It compares two sets of files without a
// cluster, or files with the cluster.

import { isDeepStrictEqual } from "node:util"
import type { ObservedCall } from "@merlon/policy/ledger"
import type { MeshConfig } from "@merlon/policy/mesh"
import {
  type CheckedInvariant,
  type CheckOptions,
  callersAmong,
  checkInvariants,
  concerns,
  type Diff,
  diffSets,
  type InvariantRule,
  lastingName,
  type ProofWorkload,
} from "@merlon/policy/proof"
import type { PolicyDocument, ReadDocument } from "@merlon/policy/resources"
import { touchedCalls } from "@merlon/policy/trial"
import { Command, Option } from "commander"
import { several } from "../../arguments.js"
import { callsIn } from "../answers/calls-file.js"
import { certificateFile } from "../answers/certificate-file.js"
import { type ClusterWorkloads, clusterPolicies, clusterWorkloads, idOf, overlaid } from "../answers/cluster-set.js"
import {
  type DiffReport,
  diffMarkdown,
  diffReport,
  diffText,
  type FailOn,
  isWanted,
  type Touched,
} from "../answers/diff-report.js"
import { exitCodeOf as exitCodeFor, InputLog, type Scope } from "../answers/inputs.js"
import { askedSession } from "../answers/istio-cluster.js"
import { isGatewayObject } from "../answers/istio-gateways.js"
import type { IstioProxies } from "../answers/istio-proxies.js"
import { logOtherProxies } from "../answers/istio-sidecar.js"
import { logChangedTargets } from "../answers/istio-targets.js"
import {
  isMeshConfig,
  logClusterRevisions,
  logMeshChange,
  logProviders,
  logRevisions,
  meshOfFiles,
} from "../answers/mesh-of-files.js"
import {
  logIfUseless,
  noteOthers,
  type PolicyFiles,
  policiesIn,
  type ReadPolicies,
  readPolicyFiles,
  readSource,
} from "../answers/policy-files.js"
import { limitsOf, type QuestionFlags, withQuestionFlags } from "../answers/question-flags.js"
import { logAtGateways, note, noteOnce, noteWithoutProxy, proxiesIn } from "../answers/question-source.js"
import { recordedCalls } from "../answers/recorded-calls.js"
import { logRunTimeLabels } from "../answers/run-time-labels.js"
import { logUndated } from "../answers/undated.js"
import { changedPolicies, logUnplaced } from "../answers/unplaced.js"
import { workloadsIn } from "../answers/workload-files.js"
import { withSession } from "../connect.js"
import { CommandError, EXIT, usageError } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { fieldsOf } from "../foreign.js"
import { clusterMesh } from "../mesh/mesh-settings.js"
import type { Session } from "../session.js"
import { print } from "../terminal.js"

interface Flags extends ClusterFlags, QuestionFlags {
  readonly from?: string
  readonly to?: string
  readonly workloads?: string
  readonly filename: readonly string[]
  readonly failOn: FailOn
  readonly shadow: boolean
  readonly calls?: string
  readonly certificate?: string
  readonly output: "text" | "json" | "md"
}

export function diffCommand(): Command {
  return withQuestionFlags(
    withClusterFlags(
      new Command("diff")
        .description("Prove which requests a change of policies affects")
        .option("--from <path>", "policies before: file, folder, or git REVISION:PATH")
        .option("--to <path>", "policies after")
        .option("--workloads <path>", "file or folder with Pods, Deployments and the like, and Services")
        .option("-f, --filename <path>", "compare these files with the cluster (repeatable)", several, [])
        .addOption(
          new Option("--fail-on <what>", "which changes exit with 5")
            .choices(["widen", "narrow", "any"])
            .default("any"),
        )
        .option(
          "--calls <file>",
          "recorded calls as JSON, - for standard input: how many of them each change touches (default: with -f, what the mesh has recorded)",
        )
        .option("--shadow", "treat Shadow policies as enforced, on both sides", false)
        .option("--certificate <file>", "write a certificate of the comparison, which `proof-check` checks")
        .addOption(
          new Option("-o, --output <format>", "output format").choices(["text", "json", "md"]).default("text"),
        ),
    ),
  )
    .addHelpText("after", EXAMPLES)
    .action((flags: Flags) => run(flags))
}

const EXAMPLES = `
Exit codes: 0 no change, 5 some requests are decided differently, 4 not decided or something that could matter was skipped,
1 the files cannot be read.

Examples:
  merlonctl diff --from policies --to new-policies --workloads pods.yaml
  merlonctl diff --from main:policies --to policies --workloads deploy --fail-on widen -o md
  merlonctl diff -f policy.yaml`

interface Sets {
  readonly before: readonly PolicyDocument[]
  readonly after: readonly PolicyDocument[]
  readonly workloads: readonly ProofWorkload[]
  readonly mesh: MeshConfig
  readonly log: InputLog
  /** The proxies of Gateways. Undefined if the mesh is not Istio. */
  readonly proxies: IstioProxies | undefined
}

async function run(flags: Flags): Promise<void> {
  const { before, after, workloads, mesh, log, proxies } =
    flags.filename.length > 0 ? await againstCluster(flags) : await fromFiles(flags)
  const noteNew = noteOnce()
  if (workloads.length === 0) log.skip("no workload was read; name Pods or Deployments with `--workloads`")
  if (before.length + after.length === 0) log.skip("no policy was read")
  for (const policies of [before, after]) {
    logProviders(policies, mesh, log)
    logUndated(policies, workloads, mesh, log)
    if (proxies !== undefined) logAtGateways(policies, proxies, workloads, mesh, log, noteNew)
  }
  if (proxies !== undefined) logChangedTargets(changedPolicies(before, after), proxies, mesh, log)
  log.limitTo(workloads, mesh.names.rootNamespace, noteNew)
  const unselected = logUnplaced(before, after, workloads, mesh, log)
  const options = {
    limits: limitsOf(flags),
    now: Math.floor(Date.now() / 1000),
    pool: flags.shadow ? "promoted" : "enforced",
    callers: callersAmong(workloads, mesh),
  } as const
  const certificate = certificateFile(flags.certificate)
  const diff = diffSets(before, after, workloads, mesh, { ...options, comparisons: certificate?.certificate })
  const broken = brokenBy(before, after, workloads, mesh, options)
  const calls = diff.groups.length === 0 ? undefined : await callsOf(flags, mesh)
  const touched = calls && touchedBy(calls, before, after, diff, mesh)
  const read = log.of(new Set([...before, ...after].map(idOf)).size, workloads.length)
  const compared = { diff, workloads, names: mesh.names, broken, unselected, read, touched }
  const report = diffReport(compared)
  if (flags.output === "json") print(JSON.stringify(report, undefined, 2))
  else if (flags.output === "md") print(diffMarkdown(compared))
  else print(diffText(compared))
  certificate?.finish([before, after], mesh, read)
  process.exitCode = exitCodeFor(read, exitCodeOf(report, flags.failOn))
}

/** Recorded calls from the file, else from the mesh. Without any, the comparison continues. */
async function callsOf(flags: Flags, mesh: MeshConfig): Promise<readonly ObservedCall[] | undefined> {
  if (flags.calls !== undefined) return callsIn(flags.calls)
  if (flags.filename.length === 0 || mesh.dialect === "istio") return undefined
  try {
    return await withSession(flags, session => recordedCalls(session, note))
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    note(`how many recorded calls this touches is not known: ${error.message}`)
    return undefined
  }
}

/** Recorded calls of the workloads that change. */
function touchedBy(
  calls: readonly ObservedCall[],
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
  { groups }: Diff,
  mesh: MeshConfig,
): Touched {
  const now = Math.floor(Date.now() / 1000)
  // Calls to Pods with the same owner were recorded together.
  const changed = new Map(groups.flatMap(({ workloads }) => workloads.map(one => [lastingName(one), one] as const)))
  return new Map(
    [...changed].map(([name, workload]) => {
      const own = calls.filter(call => call.workload === name)
      return [name, touchedCalls(before, after, workload, mesh, own, now)]
    }),
  )
}

/** Invariants that are broken or undecided after the change, except those that exist and are broken before it. */
function brokenBy(
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  options: CheckOptions,
): readonly CheckedInvariant[] {
  const invariants = after.filter(document => document.kind === "PolicyInvariant")
  const there = invariants.filter(one =>
    before.some(old => idOf(old) === idOf(one) && isDeepStrictEqual(old.spec, one.spec)),
  )
  const known = new Set(
    checkInvariants(there, before, workloads, mesh, options)
      .filter(({ result }) => result.verdict === "broken")
      .flatMap(({ rule, workloads: on }) => on.map(workload => keyOf(rule, workload))),
  )
  return checkInvariants(invariants, after, workloads, mesh, options).filter(
    ({ rule, workloads: on, result }) =>
      result.verdict !== "holds" && on.some(workload => !known.has(keyOf(rule, workload))),
  )
}

function keyOf(rule: InvariantRule, { namespace, name }: ProofWorkload): string {
  return JSON.stringify([rule, namespace, name])
}

export function exitCodeOf({ changes, undecided, invariants }: DiffReport, failOn: FailOn): number {
  if (invariants.some(({ verdict }) => verdict === "broken")) return EXIT.found
  if (changes.some(change => isWanted(change, failOn))) return EXIT.found
  // An undecided part could be the part that was asked about.
  return undecided.length + invariants.length > 0 ? EXIT.undecided : EXIT.ok
}

async function fromFiles(flags: Flags): Promise<Sets> {
  const { from, to, workloads } = flags
  if (from === undefined || to === undefined || workloads === undefined) {
    throw usageError(
      "pass `--from`, `--to` and `--workloads` to compare files, or `-f FILE` to compare a change with the cluster",
    )
  }
  if ([from, to, workloads].filter(path => path === "-").length > 1) throw usageError("standard input can be read once")
  const log = new InputLog()
  const texts = {
    from: await readSource(from, log),
    to: await readSource(to, log),
    workloads: await readSource(workloads, log),
  }
  const all = [...texts.from, ...texts.to, ...texts.workloads]
  const mesh = await meshOfFiles(all, flags, log, note)
  logRevisions(all, mesh, flags, log)
  const known = new Map<string, readonly ReadDocument[]>()
  const reading = { names: mesh.names, namespace: flags.namespace ?? "default", note, log, known }
  const [before, after] = [policiesIn(texts.from, from, reading), policiesIn(texts.to, to, reading)]
  for (const [path, files] of [[from, before] as const, [to, after] as const]) {
    const isRead = ({ value }: { readonly value: unknown }) =>
      mesh.dialect === "istio" && (isMeshConfig(value) || isGatewayObject(fieldsOf(value)))
    const others = files.others.filter(one => !isRead(one))
    noteOthers(path, others, note)
    // An empty folder is the state before or after a mesh. Files without policies are probably a mistake.
    if (!files.isEmpty) logIfUseless(path, files, log, "policy")
  }
  const policies = [...before.policies, ...after.policies]
  if (mesh.dialect === "istio" && flags.meshConfig === undefined) logMeshChange(texts.from, texts.to, policies, log)
  logTargeting(before, after, log)
  const running = policiesIn(texts.workloads, workloads, reading)
  const read = workloadsOf(running, before.policies, after.policies, mesh, [before, after], reading)
  const proxies = proxiesIn([running, before, after], mesh, reading.namespace)
  const placed = proxies?.workloads(read, log) ?? read
  return { before: before.policies, after: after.policies, workloads: placed, mesh, log, proxies }
}

/** `beside`: files that may contain Namespaces, which say whether Istio injects its proxy. */
function workloadsOf(
  { others }: PolicyFiles,
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
  mesh: MeshConfig,
  beside: readonly PolicyFiles[],
  { names, namespace, log }: ReadPolicies,
): readonly ProofWorkload[] {
  const objects = others.map(({ value }) => value)
  const namespaces = beside.flatMap(file => file.others.map(({ value }) => value))
  const changed = changedPolicies(before, after)
  const isTouched: Scope = workload =>
    changed.some(one => one.kind === "PolicyInvariant" || concerns(one, workload, mesh))
  logOtherProxies(objects, namespaces, names, namespace, log, isTouched)
  logRunTimeLabels([...before, ...after], objects, names, namespace, log)
  return workloadsIn(objects, names, namespace)
}

/** Logs changes at gateways and waypoints, which are not decided, whichever workloads were read. */
function logTargeting(
  before: Pick<PolicyFiles, "targeting">,
  after: Pick<PolicyFiles, "targeting">,
  log: InputLog,
): void {
  for (const [these, those] of [[before, after] as const, [after, before] as const]) {
    const same = new Set(those.targeting.map(({ value }) => JSON.stringify(value)))
    for (const { what, value } of these.targeting) if (!same.has(JSON.stringify(value))) log.skip(what)
  }
}

function againstCluster(flags: Flags): Promise<Sets> {
  if (flags.from !== undefined || flags.to !== undefined) {
    throw usageError("`-f` compares with the cluster; leave it out to compare `--from` with `--to`")
  }
  return withSession(flags, async own => {
    const session = await askedSession(own, flags)
    const log = new InputLog()
    const before = await clusterPolicies(session, log)
    const reading = { names: session.names, namespace: session.namespace, note, log }
    const files = await Promise.all(flags.filename.map(path => readPolicyFiles(path, reading)))
    for (const [index, file] of files.entries()) {
      const path = flags.filename[index] ?? ""
      noteOthers(path, file.others, note)
      logIfUseless(path, file, log, "policy")
      if (session.dialect === "istio" && file.others.some(({ value }) => isMeshConfig(value)))
        log.skip("the mesh configuration in the files: not modelled: the answer is about the cluster's")
    }
    const after = overlaid(
      before,
      files.flatMap(({ policies }) => policies),
    )
    const mesh = await clusterMesh(session, flags, log, note)
    logTargeting({ targeting: [] }, { targeting: files.flatMap(({ targeting }) => targeting) }, log)
    if (flags.workloads === undefined) {
      const running = await placedWorkloads(session, flags, before, after, mesh, log)
      return { before, after, workloads: running.workloads, mesh, log, proxies: running.proxies }
    }
    const given = await readPolicyFiles(flags.workloads, reading)
    const read = workloadsOf(given, before, after, mesh, files, reading)
    const proxies = proxiesIn([given, ...files], mesh, reading.namespace)
    return { before, after, workloads: proxies?.workloads(read, log) ?? read, mesh, log, proxies }
  })
}

/** The workloads of the cluster. Unmodelled objects are logged only if a changed policy could apply to them. */
async function placedWorkloads(
  session: Session,
  flags: Flags,
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
  { names: { rootNamespace } }: MeshConfig,
  log: InputLog,
): Promise<ClusterWorkloads> {
  const running = await clusterWorkloads(session, log)
  const { unmodelled, withoutProxy } = running
  await logClusterRevisions(session, flags, running, log)
  const known = new Set(before)
  const changed = after.filter(document => !known.has(document))
  for (const { namespace, why, isAmbient } of unmodelled) {
    // A ztunnel ignores policies with targets.
    const counting = isAmbient ? changed.filter(({ spec }) => !("targetRefs" in spec)) : changed
    if (counting.some(({ metadata }) => [namespace, rootNamespace].includes(metadata.namespace))) log.skip(why)
  }
  noteWithoutProxy(withoutProxy)
  return running
}
