// SPDX-License-Identifier: Apache-2.0
// The subject of a question: policies and workloads from files, or those of the cluster.

import type { MeshConfig } from "@merlon/policy/mesh"
import { type ProofWorkload, workloadsCalled } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import type { Workload } from "@merlon/policy/selection"
import type { Command } from "commander"
import { several } from "../../arguments.js"
import { withSession } from "../connect.js"
import { CommandError, usageError } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { clusterMesh } from "../mesh/mesh-settings.js"
import type { Session } from "../session.js"
import { printError, visible } from "../terminal.js"
import { clusterPolicies, clusterWorkloads } from "./cluster-set.js"
import { InputLog, type Inputs } from "./inputs.js"
import { askedSession } from "./istio-cluster.js"
import { gatewayNameOf, IstioProxies } from "./istio-proxies.js"
import { logOtherProxies } from "./istio-sidecar.js"
import { logTargets, logUnlikeSidecars } from "./istio-targets.js"
import { logClusterRevisions, logProviders, logRevisions, meshOfFiles } from "./mesh-of-files.js"
import { logIfUseless, type PlacedPolicy, type PolicyFiles, policiesIn, readSource } from "./policy-files.js"
import { type MeshSettings, type QuestionFlags, withQuestionFlags } from "./question-flags.js"
import { logRunTimeLabels } from "./run-time-labels.js"
import { logUndated } from "./undated.js"
import { workloadsIn } from "./workload-files.js"

export interface SourceFlags extends ClusterFlags, QuestionFlags {
  readonly filename: readonly string[]
  readonly workloads?: string
}

export interface QuestionSource {
  readonly placed: readonly PlacedPolicy[]
  readonly policies: readonly PolicyDocument[]
  readonly workloads: readonly ProofWorkload[]
  readonly mesh: MeshConfig
  readonly read: Inputs
}

export function withSourceFlags(command: Command): Command {
  return withQuestionFlags(
    withClusterFlags(command)
      .option(
        "-f, --filename <path>",
        "read policies and workloads from files instead of the cluster (repeatable)",
        several,
        [],
      )
      .option("--workloads <path>", "with -f: read workloads from another file or folder"),
  )
}

export const note = (text: string): void => printError(`note: ${visible(text)}`)

/** Prints each note once, for a command that reads several sets. */
export function noteOnce(): (text: string) => void {
  const known = new Set<string>()
  return text => {
    if (!known.has(text)) note(text)
    known.add(text)
  }
}

/** Selects the workloads that the answer is about from those that were read. */
export type About = (workloads: readonly ProofWorkload[]) => readonly Workload[]

/**
 * Reads policies, and Pods or their owners. Both may be in the same files. Without `about`, the answer is about all
 * workloads.
 */
export function questionSource(
  flags: Omit<SourceFlags, "budget">,
  needs: "policies" | "workloads" = "policies",
  about?: About,
): Promise<QuestionSource> {
  if (flags.filename.length > 0) return fromFiles(flags, needs, about)
  if (flags.workloads !== undefined) throw usageError("`--workloads` goes with `-f`; the cluster knows its own")
  return withSession(flags, async session => fromCluster(await askedSession(session, flags), flags, about))
}

export async function fromCluster(session: Session, flags: MeshSettings, about?: About): Promise<QuestionSource> {
  const log = new InputLog()
  const policies = await clusterPolicies(session, log)
  const placed = policies.map(document => ({ document, source: undefined, locate: () => undefined }))
  const running = await clusterWorkloads(session, log)
  const { workloads, unmodelled, withoutProxy } = running
  for (const { why } of unmodelled) log.miss(why)
  if (about !== undefined) log.noteMissed(note)
  noteWithoutProxy(withoutProxy)
  const mesh = await clusterMesh(session, flags, log, note)
  await logClusterRevisions(session, flags, running, log)
  logProviders(policies, mesh, log)
  const answered = about?.(workloads) ?? workloads
  if (running.proxies !== undefined)
    logAtGateways(policies, running.proxies, [...workloads, ...answered], mesh, log, note)
  log.limitTo(answered, mesh.names.rootNamespace, note)
  if (workloads.length === 0) {
    log.skip(`the cluster has no workload${session.dialect === "istio" ? " with a sidecar of Istio" : ""}`)
  }
  const { askedNamespace } = session
  if (askedNamespace !== undefined && workloads.every(({ namespace }) => namespace !== askedNamespace)) {
    log.skip(`namespace \`${askedNamespace}\`: it has no workload, or does not exist`)
  }
  return { policies, placed, workloads, mesh, read: log.of(policies.length, workloads.length) }
}

/** Notes Pods without a proxy, which no answer covers. */
export function noteWithoutProxy(pods: number): void {
  if (pods > 0) note(`no policy applies to ${pods} ${pods === 1 ? "Pod that has" : "Pods that have"} no proxy of Istio`)
}

async function fromFiles(
  flags: Omit<SourceFlags, "budget">,
  needs: "policies" | "workloads",
  about?: About,
): Promise<QuestionSource> {
  const namespace = flags.namespace ?? "default"
  const log = new InputLog()
  const paths = [...flags.filename, ...(flags.workloads === undefined ? [] : [flags.workloads])]
  const texts = await Promise.all(paths.map(path => readSource(path, log)))
  const mesh = await meshOfFiles(texts.flat(), flags, log, note)
  const { names } = mesh
  const reading = { names, namespace, note, log }
  const all = paths.map((path, index) => policiesIn(texts[index] ?? [], path, reading))
  const files = all.slice(0, flags.filename.length)
  for (const [index, path] of flags.filename.entries()) {
    const read = files[index]
    if (read !== undefined) logIfUseless(path, read, log, flags.workloads === undefined ? "either" : "policy")
  }
  const beside = flags.workloads === undefined ? files : all.slice(flags.filename.length)
  const others = beside.flatMap(file => file.others.map(({ value }) => value))
  const proxies = proxiesIn(all, mesh, namespace)
  const running = workloadsIn(others, names, namespace)
  const workloads = proxies?.workloads(running, log) ?? running
  const policies = files.flatMap(file => file.policies)
  const answered = about?.(workloads) ?? workloads
  logProviders(policies, mesh, log)
  logRevisions(texts.flat(), mesh, flags, log)
  logOtherProxies(
    others,
    all.flatMap(file => file.others.map(({ value }) => value)),
    names,
    namespace,
    log,
  )
  logRunTimeLabels(policies, others, names, namespace, log)
  logUndated(policies, answered, mesh, log)
  if (proxies !== undefined) logAtGateways(policies, proxies, [...workloads, ...answered], mesh, log, note)
  if (about !== undefined) log.noteMissed(note)
  log.limitTo(answered, names.rootNamespace, note)
  if (needs === "policies" && policies.length === 0) log.skip("no policy was read")
  if (flags.workloads !== undefined && workloads.length === 0) log.skip(`${flags.workloads}: it holds no workload`)
  return {
    policies,
    placed: files.flatMap(({ placed }) => placed),
    workloads,
    mesh,
    read: log.of(policies.length, workloads.length),
  }
}

/** The proxies of Gateways in files. Undefined if the mesh is not Istio. */
export function proxiesIn(
  files: readonly PolicyFiles[],
  mesh: MeshConfig,
  namespace: string,
): IstioProxies | undefined {
  if (mesh.dialect !== "istio") return undefined
  const objects = files.flatMap(({ others, entries }) => [...others.map(({ value }) => value), ...entries])
  return new IstioProxies(objects, namespace)
}

/** Logs what is not modelled of policies at gateways and waypoints. */
export function logAtGateways(
  policies: readonly PolicyDocument[],
  proxies: IstioProxies,
  workloads: readonly Workload[],
  mesh: MeshConfig,
  log: Pick<InputLog, "skip">,
  print: (text: string) => void,
): void {
  for (const one of workloads) {
    if (gatewayNameOf(one) === undefined || one.gateway !== undefined) continue
    const what = `${one.namespace}/${one.name}: not modelled: it has the label of a Gateway's proxy`
    log.skip(what, other => other.namespace === one.namespace && other.name === one.name)
  }
  logTargets(policies, proxies, mesh, log, print)
  logUnlikeSidecars(policies, workloads, mesh, log)
  proxies.logSelectors(policies, mesh.names.rootNamespace, log)
}

/** Finds workloads by `name` or `namespace/name`: of a Pod, of its owner, or of a Service that selects it. */
export function workloadNamed(
  word: string,
  workloads: readonly ProofWorkload[],
  namespace: string | undefined,
): ProofWorkload {
  const [first, ...others] = workloadsCalled(word, workloads, namespace)
  const listed = (some: readonly ProofWorkload[]): string =>
    some
      .slice(0, MAX_NAMED)
      .map(one => `${one.namespace}/${one.name}`)
      .join(", ")
  if (first === undefined) {
    throw new CommandError(
      "not-found",
      `workload \`${word}\` not found${workloads.length === 0 ? "; name Pods or Deployments with `-f`" : `; there are ${listed(workloads)}`}`,
    )
  }
  if (others.length > 0)
    throw new CommandError("not-found", `\`${word}\` may be ${listed([first, ...others])}; write which`)
  return first
}

const MAX_NAMED = 8
