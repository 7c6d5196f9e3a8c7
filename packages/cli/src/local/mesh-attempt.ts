// SPDX-License-Identifier: Apache-2.0
// One attempt to bring a local mesh up: cluster and control plane, the samples with a proxy each, the ways in. This is the
// only place where its parts meet. What was cleared away starts nothing more.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { meshNames } from "@merlon/policy"
import { writePrivateFile } from "@merlon/xds"
import { CommandError } from "../ctl/exit.js"
import { readDeclared } from "../ctl/workload/declared-pod.js"
import { getOrNothing, PODS } from "../ctl/workload/enrol.js"
import { counted } from "./counted.js"
import { declareSamples } from "./declare-samples.js"
import { lookAtPort } from "./free-port.js"
import { httpGet } from "./http-get.js"
import { joinWorkload, type Membership, renewToken } from "./join-workload.js"
import { chooseLayout, type Layout, type LayoutWishes, LOOPBACK } from "./layout.js"
import { endLeftovers } from "./leftovers.js"
import { withLocalSession } from "./local-session.js"
import { rotateLog, tailOf } from "./log-file.js"
import { logPath, type ProcessRecord, readRecord, workloadFolder } from "./mesh-record.js"
import { until } from "./poll.js"
import { applicationPlan, CONTROL_PLANE, controlPlanePlan, proxyPlan } from "./process-plans.js"
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

export class MeshAttempt {
  readonly #options: LocalMeshOptions
  readonly #changed: () => void
  readonly #processes: ProcessSet
  readonly #waysIn: WayIn[] = []
  readonly #cleared = new AbortController()
  #layout: Layout | undefined

  constructor(options: LocalMeshOptions, changed: () => void) {
    this.#options = options
    this.#changed = changed
    this.#processes = new ProcessSet(options.programs.leashed, options.progress, changed)
  }

  /** Undefined until it is decided. */
  get layout(): Layout | undefined {
    return this.#layout
  }

  get processes(): readonly ProcessRecord[] {
    return this.#processes.records
  }

  /** Resolves when everything is ready. Rejects with the first thing that goes wrong, and leaves the rest as it is. */
  async bringUp(): Promise<void> {
    await Promise.race([this.#bringUp(), this.#processes.failure])
    this.#processes.settled()
  }

  /** Returns how many processes ran. In the opposite order of starting. */
  async clear(): Promise<number> {
    this.#cleared.abort()
    await Promise.all(this.#waysIn.map(way => way.close()))
    return this.#processes.stop()
  }

  async renewTokens(): Promise<void> {
    await withLocalSession(this.#options, session =>
      Promise.all(this.#members.map(member => renewToken(session, member))),
    )
  }

  async #bringUp(): Promise<void> {
    const { data, progress, programs, mesh, domain } = this.#options
    const before = readRecord(data)
    const leftovers = await endLeftovers(before?.processes ?? [], LEFTOVER_GRACE_MS)
    if (leftovers.length > 0)
      progress({
        kind: "note",
        text: `ended ${counted(leftovers.length, "process", "processes")} of a mesh that crashed`,
      })
    if (this.#options.samples && programs.samples === undefined) {
      throw new CommandError("the samples are not built; run `npm run build`, or start without them: `--no-samples`")
    }
    const layout = await chooseLayout(this.#options, before, lookAtPort)
    this.#layout = layout
    for (const text of layout.notes) progress({ kind: "note", text })
    this.#changed()

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
    }))
    this.#launch(planned.map(applicationPlan))
    this.#launch(planned.map(proxyPlan))
    for (const member of members) await this.#memberReady(member)
    await this.#openWaysIn(layout)
    progress({ kind: "done", text: `${members.length} workloads ready, each behind its proxy` })
  }

  get #members(): readonly Membership[] {
    const { instances, workloads } = this.#layout ?? { instances: [], workloads: [] }
    return workloads.flatMap((workload, index) => {
      const instance = instances[index]
      const folder = workloadFolder(this.#options.data, workload)
      return instance === undefined ? [] : [{ instance, place: workload.place, folder }]
    })
  }

  #launch(plans: readonly ProcessPlan[]): void {
    this.#cleared.signal.throwIfAborted()
    for (const { log } of plans) rotateLog(log)
    this.#processes.start(plans)
  }

  #controlPlaneReady({ ports }: Layout): Promise<void> {
    const { data } = this.#options
    return this.#until("the control plane did not become ready", async () => {
      const answer = await httpGet(LOOPBACK, ports.health, "/readyz")
      if (answer?.status !== 200) return answer?.body.trim() ?? "it does not answer"
      // Another mesh that starts at this moment may have been faster at the port; ours says when it has all of its own.
      const ours = tailOf(logPath(data, CONTROL_PLANE), undefined).includes(join(data, "cluster", "kubeconfig"))
      return ours || "another one answers at its port"
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
      this.#cleared.signal.throwIfAborted()
      const way = new WayIn(targets)
      this.#waysIn.push(way)
      await way.listen(LOOPBACK, port)
    }
  }

  #until(what: string, look: () => Promise<true | string>): Promise<void> {
    return until(look, { what, timeoutMs: READY_TIMEOUT_MS, signal: this.#cleared.signal })
  }
}
