// SPDX-License-Identifier: Apache-2.0
// One local mesh from start to end: cluster and control plane, the samples with a proxy each, the ways in. This is the only
// place where its parts meet. Whatever goes wrong while it starts, nothing of it stays behind.

import { accessSync, constants, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { meshNames } from "@merlon/policy"
import { writePrivateFile } from "@merlon/xds"
import { CommandError } from "../ctl/exit.js"
import { readDeclared } from "../ctl/workload/declared-pod.js"
import { getOrNothing, PODS } from "../ctl/workload/enrol.js"
import { declareSamples } from "./declare-samples.js"
import { lookAtPort } from "./free-port.js"
import { httpGet } from "./http-get.js"
import { joinWorkload, type Membership, renewToken, TOKEN_SECONDS } from "./join-workload.js"
import { chooseLayout, type Layout, type LayoutWishes, LOOPBACK } from "./layout.js"
import { endLeftovers } from "./leftovers.js"
import { withLocalSession } from "./local-session.js"
import { rotateLog } from "./log-file.js"
import { type MeshLock, takeLock } from "./mesh-lock.js"
import {
  logPath,
  type MeshRecord,
  newRecord,
  type Phase,
  readRecord,
  workloadFolder,
  writeRecord,
} from "./mesh-record.js"
import { until } from "./poll.js"
import { applicationPlan, controlPlanePlan, proxyPlan } from "./process-plans.js"
import { type ProcessPlan, ProcessSet } from "./process-set.js"
import type { Programs } from "./programs.js"
import type { Progress } from "./progress.js"
import { sampleDocuments } from "./sample-documents.js"
import { SERVICES } from "./samples.js"
import { WayIn } from "./way-in.js"

export interface LocalMeshOptions extends LayoutWishes {
  /** Absolute. */
  readonly data: string
  readonly mesh: string
  readonly domain: string
  readonly programs: Programs
  readonly progress: Progress
}

const READY_TIMEOUT_MS = 60_000
const LEFTOVER_GRACE_MS = 5_000
const RENEW_TOKENS_MS = (TOKEN_SECONDS * 1000) / 4

export class LocalMesh {
  readonly #options: LocalMeshOptions
  readonly #lock: MeshLock
  readonly #processes: ProcessSet
  readonly #waysIn: WayIn[] = []
  readonly #stopping = new AbortController()
  #layout: Layout | undefined
  #phase: Phase = "starting"
  #renewal: NodeJS.Timeout | undefined
  #stopped: Promise<number> | undefined

  /** Throws where another one runs on the same data. */
  constructor(options: LocalMeshOptions) {
    prepareData(options.data)
    this.#options = options
    this.#lock = takeLock(options.data)
    this.#processes = new ProcessSet(options.programs.leash, options.progress, () => this.#write())
  }

  /** Resolves when everything is ready; where that fails, everything has been stopped. */
  async start(): Promise<MeshRecord> {
    try {
      await Promise.race([this.#bringUp(), this.#processes.failure])
      this.#processes.settled()
      this.#phase = "ready"
      this.#write()
      this.#renewal = setInterval(() => this.#renewTokens(), RENEW_TOKENS_MS)
      return this.record
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  get record(): MeshRecord {
    const { mesh, domain } = this.#options
    const { ports, workloads, waysIn } = this.#layoutOrThrow()
    const { records: processes } = this.#processes
    return newRecord({
      phase: this.#phase,
      mesh,
      domain,
      supervisor: this.#lock.holder,
      ports,
      workloads,
      waysIn,
      processes,
    })
  }

  /** Returns how many processes ran. In the opposite order of starting. */
  stop(): Promise<number> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<number> {
    this.#phase = "stopping"
    this.#stopping.abort()
    clearInterval(this.#renewal)
    this.#write()
    await Promise.all(this.#waysIn.map(way => way.close()))
    const count = await this.#processes.stop()
    this.#phase = "stopped"
    this.#write()
    this.#lock.release()
    return count
  }

  async #bringUp(): Promise<void> {
    const { data, progress, programs, mesh, domain } = this.#options
    const before = readRecord(data)
    const leftovers = await endLeftovers(before?.processes ?? [], LEFTOVER_GRACE_MS)
    if (leftovers.length > 0)
      progress({ kind: "note", text: `ended ${leftovers.length} processes of a mesh that crashed` })
    if (this.#options.samples && programs.samples === undefined) {
      throw new CommandError("the samples are not built; run `npm run build`, or start without them: `--no-samples`")
    }
    const layout = await chooseLayout(this.#options, before, lookAtPort)
    this.#layout = layout
    for (const text of layout.notes) progress({ kind: "note", text })
    this.#write()

    progress({ kind: "begin", text: "starting the control plane" })
    this.#launch([controlPlanePlan({ data, mesh, domain, programs, ports: layout.ports })])
    await this.#controlPlaneReady(layout)
    writePrivateFile(data, "kubeconfig", readFileSync(join(data, "cluster", "kubeconfig"), "utf8"))
    progress({ kind: "done", text: `control plane ready, API at https://${LOOPBACK}:${layout.ports.api}` })
    if (programs.samples === undefined || !this.#options.samples) return

    const { samples } = programs
    progress({ kind: "begin", text: "declaring the samples" })
    const members = this.#members
    const folders = await withLocalSession(this.#options, async session => {
      await declareSamples(session, sampleDocuments(samples, session.names))
      return Promise.all(members.map(member => joinWorkload(session, member, layout.ports.mesh)))
    })
    progress({ kind: "done", text: `${members.length} workloads declared in foo and app` })

    progress({ kind: "begin", text: "starting the samples and their proxies" })
    const planned = members.map((member, index) => ({
      ...member,
      mesh,
      bootstrap: folders[index] ?? "",
      data,
      programs,
      samples,
    }))
    this.#launch(planned.map(applicationPlan))
    this.#launch(planned.map(proxyPlan))
    for (const member of members) await this.#memberReady(member)
    await this.#openWaysIn(layout)
    progress({ kind: "done", text: `${members.length} workloads ready, each behind its proxy` })
  }

  get #members(): readonly Membership[] {
    const { instances, workloads } = this.#layoutOrThrow()
    return workloads.flatMap((workload, index) => {
      const instance = instances[index]
      const folder = workloadFolder(this.#options.data, workload)
      return instance === undefined ? [] : [{ instance, place: workload.place, folder }]
    })
  }

  #launch(plans: readonly ProcessPlan[]): void {
    this.#stopping.signal.throwIfAborted()
    for (const { log } of plans) rotateLog(log)
    this.#processes.start(plans)
  }

  #controlPlaneReady({ ports }: Layout): Promise<void> {
    return this.#until("the control plane did not become ready", async () => {
      const answer = await httpGet(LOOPBACK, ports.health, "/readyz")
      return answer?.status === 200 || (answer?.body.trim() ?? "it does not answer")
    })
  }

  async #memberReady({ instance, place }: Membership): Promise<void> {
    const { namespace, name } = instance
    if (instance.application.kind === "server") {
      await this.#until(`the application of ${name} did not answer`, async () => {
        const answer = await httpGet(place.address, place.application, "/")
        return answer !== undefined || "nothing listens there"
      })
    }
    await this.#until(`the proxy of ${name} did not become ready`, async () => {
      const answer = await httpGet(place.address, place.health, "/healthz/ready")
      return answer?.status === 200 || (answer?.body.trim() ?? "it does not answer")
    })
    const names = meshNames(this.#options)
    await withLocalSession(this.#options, session =>
      this.#until(`the Pod of ${name} did not become ready`, async () => {
        const pod = await getOrNothing(session, PODS, name, namespace)
        if (pod === undefined) return "it is not there"
        return readDeclared(pod, names).ready || "its condition Ready is not True"
      }),
    )
  }

  async #openWaysIn({ waysIn, instances, workloads }: Layout): Promise<void> {
    for (const { service, port } of waysIn) {
      const sample = SERVICES.find(({ name, namespace }) => `${name}.${namespace}` === service)
      const targets = instances.flatMap((instance, index) => {
        const place = workloads[index]?.place
        const behind = place !== undefined && sample?.selects(instance) === true
        return behind ? [{ address: place.address, port: place.xserver }] : []
      })
      const way = new WayIn(targets)
      await way.listen(LOOPBACK, port)
      this.#waysIn.push(way)
    }
  }

  #renewTokens(): void {
    const renewed = withLocalSession(this.#options, session =>
      Promise.all(this.#members.map(member => renewToken(session, member))),
    )
    renewed.catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      this.#options.progress({ kind: "trouble", text: `the workloads' tokens could not be renewed: ${why}` })
    })
  }

  #until(what: string, look: () => Promise<true | string>): Promise<void> {
    return until(look, { what, timeoutMs: READY_TIMEOUT_MS, signal: this.#stopping.signal })
  }

  #layoutOrThrow(): Layout {
    if (this.#layout === undefined) throw new CommandError("the mesh has not begun to start")
    return this.#layout
  }

  // Without it a crash leaves more to clear up, but nothing of what runs needs it.
  #write(): void {
    if (this.#layout === undefined) return
    try {
      writeRecord(this.#options.data, this.record)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.#options.progress({ kind: "trouble", text: `cannot write down what runs: ${why}` })
    }
  }
}

function prepareData(data: string): void {
  try {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    accessSync(data, constants.W_OK | constants.X_OK)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new CommandError(`cannot keep anything in \`${data}\`: ${why}; choose another place with \`--data\``)
  }
}

/** As its log is called. */
export function supervisorLog(data: string): string {
  return logPath(data, "supervisor")
}
