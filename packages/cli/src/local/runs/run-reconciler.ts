// SPDX-License-Identifier: Apache-2.0
// Reconciles `runs.json` while the mesh runs: starts new runs, stops removed ones, and restarts changed ones, one change
// at a time. A run that fails reports why and does not affect others.

import { rmSync } from "node:fs"
import { SerialQueue } from "@merlon/xds/runtime"
import { pathOf } from "../../ctl/api/path.js"
import type { Session } from "../../ctl/session.js"
import { checkNamespace, getOrNothing, PODS } from "../../ctl/workload/enrol.js"
import { describeError } from "../../describe-error.js"
import { choosePlace } from "../layout/choose-places.js"
import { declareSamples } from "../layout/declare-samples.js"
import { lookAtPort } from "../layout/free-port.js"
import type { Target } from "../layout/ingress-port.js"
import type { SampleInstance } from "../layout/samples.js"
import type { LocalMeshOptions } from "../local-mesh-options.js"
import { withLocalSession } from "../local-session.js"
import { rotateLog, tailOf } from "../processes/log-file.js"
import type { ManagedProcess } from "../processes/managed-process.js"
import { applicationPlan, proxyPlan } from "../processes/process-plans.js"
import type { ProcessSet } from "../processes/process-set.js"
import {
  type IngressPortRecord,
  type Place,
  type RunRecord,
  type WorkloadRecord,
  workloadFolder,
} from "../record/mesh-record.js"
import { joinWorkload, type Membership } from "./join-workload.js"
import { runDocuments } from "./run-documents.js"
import { digestOf, type RunSpec, readRuns, runKey, serviceOf } from "./run-spec.js"

const TOLD_LINES = 10
const LOOK_EVERY_MS = 300

export interface RunReconcilerOptions {
  readonly mesh: LocalMeshOptions
  readonly meshPort: number
  readonly processes: ProcessSet
  /** Places of other instances. */
  readonly taken: readonly Place[]
  /** Resolves when the workload's proxy and application are ready. Rejects after a timeout. */
  readonly ready: (member: Membership) => Promise<void>
  /** Resolves when the workload's proxy accepts the calls of its program. */
  readonly takesCalls: (member: Membership) => Promise<void>
  readonly changed: () => void
}

interface Running {
  readonly spec: RunSpec
  readonly digest: string
  readonly members: readonly Membership[]
  processes: readonly ManagedProcess[]
  phase: RunRecord["phase"]
  why: string | undefined
}

export class RunReconciler {
  readonly #options: RunReconcilerOptions
  readonly #running = new Map<string, Running>()
  readonly #changes = new SerialQueue()
  #seen = ""
  /** The last reported problem, so that each is reported once. */
  #trouble = ""
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(options: RunReconcilerOptions) {
    this.#options = options
  }

  /** Resolves when every requested run is ready or has failed. */
  async start(): Promise<void> {
    await this.#look()
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS)
  }

  /** Starts nothing more. The process set ends the processes. */
  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
  }

  get members(): readonly Membership[] {
    return [...this.#running.values()].flatMap(({ members }) => members)
  }

  get workloads(): readonly WorkloadRecord[] {
    return this.members.map(({ instance: { namespace, name, serviceAccount }, place }) => ({
      namespace,
      name,
      serviceAccount,
      serves: true,
      place,
    }))
  }

  get runs(): readonly RunRecord[] {
    return [...this.#running].map(([key, { digest, phase, why }]) => ({ key, digest, phase, why }))
  }

  get ingressPorts(): readonly IngressPortRecord[] {
    return [...this.#running.values()].flatMap(({ spec }) =>
      spec.wayIn === undefined ? [] : [{ service: `${serviceOf(spec)}.${spec.namespace}`, port: spec.wayIn }],
    )
  }

  /** The instances of a Service, of all its versions. */
  targets(service: string): readonly (Target & { readonly health: number })[] {
    return [...this.#running.values()]
      .filter(({ spec }) => `${serviceOf(spec)}.${spec.namespace}` === service)
      .flatMap(({ members }) => members)
      .map(({ place }) => ({ address: place.address, port: place.xserver, health: place.health }))
  }

  #look(): Promise<unknown> {
    const requested = this.#requested()
    if (requested === undefined) return this.#changes.idle()
    const text = JSON.stringify(requested)
    if (text === this.#seen) return this.#changes.idle()
    this.#seen = text
    return this.#changes.add(() => this.#bringAbout(requested))
  }

  /** Undefined if the file is unreadable: running programs continue until a readable request changes that. */
  #requested(): readonly RunSpec[] | undefined {
    try {
      const requested = readRuns(this.#options.mesh.data)
      this.#trouble = ""
      return requested
    } catch (error) {
      const text = describeError(error)
      if (text !== this.#trouble) this.#options.mesh.progress({ kind: "trouble", text })
      this.#trouble = text
      return undefined
    }
  }

  /** Never rejects. */
  async #bringAbout(requested: readonly RunSpec[]): Promise<void> {
    const wanted = new Map(requested.map(spec => [runKey(spec), spec]))
    for (const [key, running] of [...this.#running]) {
      const spec = wanted.get(key)
      if (spec === undefined) await this.#end(key, running, 0)
      else if (digestOf(spec) !== running.digest) await this.#end(key, running, spec.replicas)
    }
    for (const [key, spec] of wanted) {
      if (!this.#running.has(key) && !this.#stopped) await this.#begin(key, spec)
    }
  }

  async #begin(key: string, spec: RunSpec): Promise<void> {
    const { changed, mesh } = this.#options
    const digest = digestOf(spec)
    let running: Running | undefined
    try {
      const members = await this.#places(spec)
      const bootstraps = await withLocalSession(mesh, session => this.#declare(session, spec, members))
      const planned = members.map((member, index) => ({
        ...member,
        mesh: mesh.mesh,
        bootstrap: bootstraps[index] ?? "",
        data: mesh.data,
        programs: mesh.programs,
      }))
      const [proxies, applications] = [planned.map(proxyPlan), planned.map(applicationPlan)]
      for (const { log } of [...proxies, ...applications]) rotateLog(log)
      const processes = this.#options.processes.start(proxies)
      running = { spec, digest, members, processes, phase: "starting", why: undefined }
      this.#running.set(key, running)
      changed()
      // A program may call other workloads as soon as it starts.
      await Promise.all(members.map(member => this.#options.takesCalls(member)))
      if (this.#stopped) return
      running.processes = [...processes, ...this.#options.processes.start(applications)]
      changed()
      await Promise.all(members.map(member => this.#ready(member, running?.processes ?? [])))
      running.phase = "ready"
      mesh.progress({ kind: "note", text: `${key} is ready` })
      changed()
    } catch (error) {
      await this.#options.processes.end(running?.processes ?? [])
      const why = describeError(error)
      this.#running.set(key, { spec, digest, members: [], processes: [], phase: "failed", why })
      mesh.progress({ kind: "trouble", text: `${key} does not run: ${why}` })
      changed()
      await this.#forget(key, running?.members ?? [])
    }
  }

  /** Waits until the run is ready. An application that ended earlier has logged the reason and is not waited for. */
  async #ready(member: Membership, processes: readonly ManagedProcess[]): Promise<void> {
    const { namespace, name } = member.instance
    const application = processes.find(process => process.name === `${namespace}.${name}.app`)
    let watch: NodeJS.Timeout | undefined
    const ended = new Promise<never>((_, reject) => {
      watch = setInterval(() => {
        if (application === undefined || application.exits === 0) return
        const tail = tailOf(application.log, TOLD_LINES).trimEnd()
        reject(new Error(`\`${member.instance.name}\` ended before it was ready; the end of its log:\n${tail}`))
      }, LOOK_EVERY_MS)
    })
    try {
      await Promise.race([this.#options.ready(member), ended])
    } finally {
      clearInterval(watch)
    }
  }

  async #places(spec: RunSpec): Promise<readonly Membership[]> {
    const { data, block } = this.#options.mesh
    const taken = [...this.#options.taken, ...this.members.map(({ place }) => place)]
    const members: Membership[] = []
    for (let index = 1; index <= spec.replicas; index++) {
      const instance = instanceOf(spec, index)
      const own = [...taken, ...members.map(({ place }) => place)]
      const place = await choosePlace(own, spec.listensOn === undefined ? spec.port : undefined, lookAtPort, block)
      members.push({ instance, place: { ...place, application: spec.port }, folder: workloadFolder(data, instance) })
    }
    return members
  }

  async #declare(session: Session, spec: RunSpec, members: readonly Membership[]): Promise<readonly string[]> {
    await declareSamples(session, runDocuments(spec, session.names))
    await checkNamespace(session, spec.namespace)
    return Promise.all(members.map(member => joinWorkload(session, member, this.#options.meshPort)))
  }

  /** Stops a run. Instances that the next version also has keep their Pods, because they are the same workload. */
  async #end(key: string, { members, processes }: Running, kept: number): Promise<void> {
    await this.#options.processes.end(processes)
    this.#running.delete(key)
    this.#options.changed()
    await this.#forget(key, members.slice(kept))
  }

  async #forget(key: string, members: readonly Membership[]): Promise<void> {
    if (members.length === 0) return
    try {
      await withLocalSession(this.#options.mesh, session => Promise.all(members.map(member => forget(session, member))))
    } catch (error) {
      this.#options.mesh.progress({ kind: "trouble", text: `${key} is not forgotten: ${describeError(error)}` })
    }
  }
}

function instanceOf(spec: RunSpec, index: number): SampleInstance {
  const { namespace, name, serviceAccount, labels, port, protocol } = spec
  return {
    namespace,
    name: `${name}-${index}`,
    serviceAccount,
    labels,
    application: { kind: "command", spec, port, protocol },
  }
}

async function forget(session: Session, { instance: { namespace, name }, folder }: Membership): Promise<void> {
  const pod = await getOrNothing(session, PODS, name, namespace)
  if (pod !== undefined) {
    const body = { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } }
    await session.api.request({ method: "DELETE", path: pathOf(PODS, { namespace, name }), body })
  }
  rmSync(folder, { recursive: true, force: true })
}
