// SPDX-License-Identifier: Apache-2.0
// One attempt to start a local mesh: cluster and control plane, the samples with a proxy each, and the ingress ports.
// It connects these parts. After a cleanup it starts nothing more.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { meshNames } from "@merlon/policy/mesh"
import { writePrivateFile } from "@merlon/xds/runtime"
import { CommandError } from "../ctl/exit.js"
import { readDeclared } from "../ctl/workload/declared-pod.js"
import { getOrNothing, PODS, writtenRootCertificate } from "../ctl/workload/enrol.js"
import { describeError } from "../describe-error.js"
import { counted } from "./counted.js"
import { declareSamples } from "./layout/declare-samples.js"
import { lookAtPort } from "./layout/free-port.js"
import { IngressPort } from "./layout/ingress-port.js"
import { chooseLayout, type Layout, LOOPBACK } from "./layout/layout.js"
import { sampleDocuments } from "./layout/sample-documents.js"
import { SERVICES, SHOP_ENTRY } from "./layout/samples.js"
import type { LocalMeshOptions } from "./local-mesh-options.js"
import { withLocalSession } from "./local-session.js"
import { until } from "./poll.js"
import { GRACE_MS } from "./processes/grace.js"
import { httpGet } from "./processes/http-get.js"
import { endLeftovers } from "./processes/leftovers.js"
import { rotateLog, tailOf } from "./processes/log-file.js"
import { applicationPlan, CONTROL_PLANE, controlPlanePlan, proxyPlan, visitorPlan } from "./processes/process-plans.js"
import { type ProcessPlan, ProcessSet } from "./processes/process-set.js"
import { Readiness, type WatchedTarget } from "./processes/readiness.js"
import {
  type IngressPortRecord,
  logPath,
  type ProcessRecord,
  type RunRecord,
  readRecord,
  workloadFolder,
} from "./record/mesh-record.js"
import { joinWorkload, type Membership, renewToken } from "./runs/join-workload.js"
import { RunReconciler } from "./runs/run-reconciler.js"

/** Allows for a busy machine. The user sees what the command waits for, and can interrupt it. */
const READY_TIMEOUT_MS = 180_000

export class MeshAttempt {
  readonly #options: LocalMeshOptions
  readonly #changed: () => void
  readonly #processes: ProcessSet
  readonly #ingressPorts = new Map<string, IngressPort>()
  readonly #readiness = new Readiness(() => this.#targets())
  #runs: RunReconciler | undefined
  readonly #cleared = new AbortController()
  readonly #opening = new Set<string>()
  #layout: Layout | undefined

  constructor(options: LocalMeshOptions, changed: () => void) {
    this.#options = options
    this.#changed = changed
    this.#processes = new ProcessSet(options.programs.watchingParent, options.progress, changed)
  }

  /** Undefined until it is decided. Programs of the user are added later. */
  get layout(): Layout | undefined {
    if (this.#layout === undefined || this.#runs === undefined) return this.#layout
    const { workloads, ingressPorts } = this.#layout
    const own = this.#runs.ingressPorts.filter(({ service }) => this.#ingressPorts.has(service))
    return {
      ...this.#layout,
      workloads: [...workloads, ...this.#runs.workloads],
      ingressPorts: [...ingressPorts, ...own],
    }
  }

  get runs(): readonly RunRecord[] {
    return this.#runs?.runs ?? []
  }

  get processes(): readonly ProcessRecord[] {
    return this.#processes.records
  }

  /** Resolves when everything is ready. Rejects with the first error, without a cleanup. */
  async bringUp(): Promise<void> {
    await Promise.race([this.#bringUp(), this.#processes.failure])
    this.#processes.settled()
    await this.#startRuns()
    this.#readiness.start()
  }

  /** Stops everything in reverse start order. Returns the number of processes that ran. */
  async clear(): Promise<number> {
    this.#cleared.abort()
    this.#runs?.stop()
    this.#readiness.stop()
    await Promise.all([...this.#ingressPorts.values()].map(ingress => ingress.close()))
    return this.#processes.stop()
  }

  async renewTokens(): Promise<void> {
    await withLocalSession(this.#options, session =>
      Promise.all([...this.#members, ...(this.#runs?.members ?? [])].map(member => renewToken(session, member))),
    )
  }

  async #bringUp(): Promise<void> {
    const { data, progress, programs, mesh, domain } = this.#options
    const before = readRecord(data)
    const leftovers = await endLeftovers(before?.processes ?? [], GRACE_MS)
    if (leftovers.length > 0)
      progress({
        kind: "note",
        text: `ended ${counted(leftovers.length, "process", "processes")} of a mesh that crashed`,
      })
    if (this.#options.samples && programs.samples === undefined) {
      throw new CommandError(
        "not-built",
        "the samples are not built; run `npm run build`, or start without them: `--no-samples`",
      )
    }
    const layout = await chooseLayout(this.#options, before, lookAtPort)
    this.#layout = layout
    for (const text of layout.notes) progress({ kind: "note", text })
    this.#changed()

    progress({ kind: "begin", text: "starting the control plane" })
    this.#launch([
      controlPlanePlan({ data, mesh, domain, programs, ports: layout.ports, meshListen: this.#options.meshListen }),
    ])
    await this.#controlPlaneReady(layout)
    writePrivateFile(data, "kubeconfig", readFileSync(join(data, "cluster", "kubeconfig"), "utf8"))
    await this.#rootWritten()
    progress({ kind: "done", text: `control plane ready, API at https://${LOOPBACK}:${layout.ports.api}` })
    if (programs.samples === undefined || !this.#options.samples) return

    const { samples } = programs
    const { shop } = this.#options
    progress({ kind: "begin", text: "declaring the samples" })
    const members = this.#members
    const folders = await withLocalSession(this.#options, async session => {
      await declareSamples(session, sampleDocuments(samples, session.names, shop))
      return Promise.all(members.map(member => joinWorkload(session, member, layout.ports.mesh)))
    })
    progress({
      kind: "done",
      text: `${members.length} workloads declared in ${shop ? "foo, app and shop" : "foo and app"}`,
    })

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
    await this.#openIngressPorts(layout)
    const entry = shop ? planned.find(({ instance }) => instance.name === SHOP_ENTRY) : undefined
    if (entry !== undefined) this.#launch([visitorPlan(entry)])
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
      // Another mesh that starts at the same time may have taken the port first. Our control plane logs this line when
      // it has all its ports.
      const ours = tailOf(logPath(data, CONTROL_PLANE), undefined).includes(join(data, "cluster", "kubeconfig"))
      return ours || "another one answers at its port"
    })
  }

  /**
   * Waits for the root certificate. A control plane is ready before it leads, and only the leader writes the root that
   * workloads trust.
   */
  #rootWritten(): Promise<void> {
    const { rootNamespace } = meshNames(this.#options)
    return withLocalSession(this.#options, session =>
      this.#until("the control plane did not write the mesh's root certificate", async () => {
        const written = await writtenRootCertificate(session, rootNamespace)
        return written !== undefined || `it is not in ${rootNamespace}`
      }),
    )
  }

  /** Waits until a proxy accepts calls, which it does before it reports its health. */
  #memberTakesCalls({ instance: { name }, place }: Membership): Promise<void> {
    return this.#until(`the proxy of ${name} did not start`, async () => {
      const answer = await httpGet(place.address, place.health, "/healthz/ready")
      return answer !== undefined || "it does not answer"
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

  async #openIngressPorts({ ingressPorts }: Layout): Promise<void> {
    for (const ingress of ingressPorts) await this.#openIngressPort(ingress)
  }

  async #openIngressPort({ service, port }: IngressPortRecord): Promise<void> {
    this.#cleared.signal.throwIfAborted()
    const ingress = new IngressPort(() => this.#readiness.ready(this.#behind(service)))
    await ingress.listen(LOOPBACK, port)
    this.#ingressPorts.set(service, ingress)
  }

  /** The instances of the samples and of the user's programs behind a Service. */
  #behind(service: string): readonly WatchedTarget[] {
    const { instances, workloads } = this.#layout ?? { instances: [], workloads: [] }
    const sample = SERVICES.find(({ name, namespace }) => `${name}.${namespace}` === service)
    const own = instances.flatMap((instance, index) => {
      const place = workloads[index]?.place
      const behind = place !== undefined && sample?.selects(instance) === true
      return behind ? [{ address: place.address, port: place.xserver, health: place.health }] : []
    })
    return [...own, ...(this.#runs?.targets(service) ?? [])]
  }

  #targets(): readonly WatchedTarget[] {
    return [...this.#ingressPorts.keys()].flatMap(service => this.#behind(service))
  }

  async #startRuns(): Promise<void> {
    const layout = this.#layout
    if (layout === undefined || this.#cleared.signal.aborted) return
    this.#runs = new RunReconciler({
      mesh: this.#options,
      meshPort: layout.ports.mesh,
      processes: this.#processes,
      taken: layout.workloads.map(({ place }) => place),
      ready: member => this.#memberReady(member),
      takesCalls: member => this.#memberTakesCalls(member),
      changed: () => {
        void this.#matchIngressPorts()
        this.#changed()
      },
    })
    await this.#runs.start()
  }

  /** Opens and closes ingress ports of the user's programs as these start and stop. */
  async #matchIngressPorts(): Promise<void> {
    const samples = new Set(this.#layout?.ingressPorts.map(({ service }) => service))
    const wanted = new Map(this.#runs?.ingressPorts.map(ingress => [ingress.service, ingress]))
    for (const [service, ingress] of [...this.#ingressPorts]) {
      if (samples.has(service) || wanted.has(service)) continue
      this.#ingressPorts.delete(service)
      await ingress.close()
    }
    for (const [service, ingress] of wanted) {
      if (this.#ingressPorts.has(service) || this.#opening.has(service)) continue
      this.#opening.add(service)
      try {
        await this.#openIngressPort(ingress)
        this.#changed()
      } catch (error) {
        this.#options.progress({
          kind: "trouble",
          text: `cannot expose ${service} at port ${ingress.port}: ${describeError(error)}`,
        })
      } finally {
        this.#opening.delete(service)
      }
    }
  }

  #until(what: string, look: () => Promise<true | string>): Promise<void> {
    return until(look, { what, timeoutMs: READY_TIMEOUT_MS, signal: this.#cleared.signal })
  }
}
