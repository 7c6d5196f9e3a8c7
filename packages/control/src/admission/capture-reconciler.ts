// SPDX-License-Identifier: Apache-2.0
// Maintains capture by Service: the NetworkPolicy of every such namespace, and whether the cluster enforces it. No API
// reports that, so the leader tests it: it connects to the application past xserver and writes the result on the Pod. A
// Pod whose application answers is not protected, whatever is configured.

import { connect } from "node:net"
import type { MeshNames } from "@merlon/policy/mesh"
import { messageOf } from "@merlon/xds/runtime"
import { apply } from "../install/apply.js"
import { componentNames } from "../install/component-names.js"
import type { KubernetesClient } from "../kubernetes/client.js"
import { roleAsOwner } from "../kubernetes/owner-reference.js"
import type { Reflected } from "../kubernetes/reflector.js"
import { type KubernetesObject, NETWORK_POLICIES, PODS } from "../kubernetes/resource-type.js"
import { applicationPorts } from "../registry/application-ports.js"
import {
  type CapturedCondition,
  capturedCondition,
  capturedConditionOf,
  isCapturedByService,
} from "../registry/captured.js"
import { labelsOf } from "../registry/foreign.js"
import { addressesOf, isReady, readySince } from "../registry/pod-reading.js"
import { type Capture, captureOf, isOptedIn } from "./capture-choice.js"
import { capturePolicy } from "./capture-policy.js"
import { HEALTH_PORT } from "./injection-options.js"

export interface CaptureReconcilerOptions {
  readonly client: KubernetesClient
  readonly names: MeshNames
  readonly fallback: Capture
  readonly namespaces: Reflected<KubernetesObject>
  readonly pods: Reflected<KubernetesObject>
  readonly isLeader: () => boolean
  readonly warn: (message: string, error: unknown) => void
  readonly reach?: (host: string, port: number) => Promise<Reached>
  /** Wall clock, in milliseconds. */
  readonly now?: () => number
}

/** The result of a connection attempt: accepted, refused by the peer or the network, or no response. */
export type Reached = "answered" | "refused" | "silent"

/** Runs soon after a change, and periodically: network rules take effect with a delay. */
const SOON_MS = 500
const AGAIN_MS = 30_000
/** Pause after an inconclusive attempt. */
const UNDECIDED_MS = 2_000
/** An application may start to listen a while after its Pod is reported ready. */
const SETTLED_MS = 60_000
const CONNECT_MS = 1_500
const PARALLEL = 16

export class CaptureReconciler {
  readonly #options: CaptureReconcilerOptions
  readonly #unsubscribe: readonly (() => void)[]
  /** Namespaces that have our NetworkPolicy, as far as this process has written it. */
  readonly #kept = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isOwned = false
  /** When everything was last checked, by the monotonic clock. */
  #wholeAt = 0
  /** Pods whose last attempt was inconclusive; only they are retried soon. */
  readonly #undecided = new Set<string>()
  #stopped = false

  constructor(options: CaptureReconcilerOptions) {
    this.#options = options
    this.#unsubscribe = [
      options.namespaces.onChange(() => this.#later(SOON_MS)),
      options.pods.onChange(({ object }) => {
        if (object !== undefined && isCapturedByService(object, options.names)) this.#later(SOON_MS)
      }),
    ]
    this.#later(SOON_MS)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    for (const stop of this.#unsubscribe) stop()
    await this.#running
  }

  #later(milliseconds: number, work = (): Promise<void> => this.#pass()): void {
    if (this.#stopped || this.#running !== undefined) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#running = work()
        .catch((error: unknown) => this.#options.warn("traffic capture could not be maintained; retrying", error))
        .finally(() => {
          this.#running = undefined
          this.#next()
        })
    }, milliseconds).unref()
  }

  /** An inconclusive Pod must not cause checks of all others every two seconds. */
  #next(): void {
    const wait = this.#wholeAt + AGAIN_MS - performance.now()
    if (this.#undecided.size === 0 || wait <= UNDECIDED_MS) this.#later(Math.max(SOON_MS, wait))
    else this.#later(UNDECIDED_MS, () => this.#lookAt(pod => this.#undecided.has(keyOf(pod))))
  }

  async #pass(): Promise<void> {
    this.#wholeAt = performance.now()
    if (!this.#options.isLeader()) return
    await this.#writePolicies()
    await this.#lookAt(() => true)
  }

  async #lookAt(wanted: (pod: KubernetesObject) => boolean): Promise<void> {
    const { pods, names, isLeader } = this.#options
    const captured = [...pods.items.values()].filter(
      pod => isCapturedByService(pod, names) && isReady(pod) && wanted(pod),
    )
    this.#undecided.clear()
    for (let at = 0; at < captured.length && !this.#stopped && isLeader(); at += PARALLEL) {
      await Promise.all(captured.slice(at, at + PARALLEL).map(pod => this.#look(pod)))
    }
  }

  async #writePolicies(): Promise<void> {
    const { client, names, namespaces, fallback, warn } = this.#options
    const owners = await roleAsOwner(client, componentNames(names).controlPlane)
    // The role was deleted, so we are being uninstalled: a NetworkPolicy that is written now would be left behind.
    if (owners.length === 0 && this.#isOwned) return
    this.#isOwned = owners.length > 0
    for (const { metadata } of namespaces.items.values()) {
      const labels = labelsOf(metadata.labels)
      const wanted = isOptedIn(labels, names) && captureOf(labels, fallback, names) === "service"
      if (metadata.deletionTimestamp !== undefined || (!wanted && !this.#kept.has(metadata.name))) continue
      const manifest = capturePolicy(names, metadata.name, owners)
      try {
        if (wanted) {
          await apply(client, manifest, "merge")
          this.#kept.add(metadata.name)
        } else {
          await client.delete(NETWORK_POLICIES, manifest.object.metadata.name, metadata.name)
          this.#kept.delete(metadata.name)
        }
      } catch (error) {
        warn(`the NetworkPolicy of the namespace \`${metadata.name}\` could not be written`, error)
      }
    }
  }

  async #look(pod: KubernetesObject): Promise<void> {
    const { client, names, reach = connectTo, warn } = this.#options
    const hosts = addressesOf(pod)
    if (hosts.length === 0) return
    const ports = applicationPorts(pod.spec, names).map(({ port }) => port)
    const atAll = (port: number) => Promise.all(hosts.map(host => reach(host, port)))
    const [xserver = [], ...tried] = await Promise.all([HEALTH_PORT, ...ports].map(atAll))
    const open = ports.filter((_, at) => tried[at]?.includes("answered"))
    if (open.length === 0 && !this.#isTelling(pod, xserver, tried.flat())) {
      this.#undecided.add(keyOf(pod))
      return
    }
    const condition = capturedCondition(open)
    const before = capturedConditionOf(pod, names)
    if (before?.status === condition.status && before.message === condition.message) return
    try {
      await client.patch(PODS, pod.metadata.name, this.#report(pod, condition), {
        namespace: pod.metadata.namespace ?? "default",
        subresource: "status",
        type: "apply",
      })
    } catch (error) {
      warn(`the capture condition of the Pod \`${pod.metadata.name}\` could not be written: ${messageOf(error)}`, error)
    }
  }

  /**
   * Whether the lack of an answer means that the path is blocked. Fail closed: not if xserver, whose port is open, does
   * not answer at each of the Pod's addresses, because then we or the network may be slow. Also not if the connection
   * may have been refused by an application that does not listen yet.
   */
  #isTelling(pod: KubernetesObject, xserver: readonly Reached[], tried: readonly Reached[]): boolean {
    if (xserver.some(reached => reached !== "answered")) return false
    const { now = Date.now } = this.#options
    return !tried.includes("refused") || now() - (readySince(pod) ?? now()) > SETTLED_MS
  }

  #report({ metadata }: KubernetesObject, condition: CapturedCondition): KubernetesObject {
    const { name, namespace = "default", uid } = metadata
    const type = `${this.#options.names.domain}/Captured`
    const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z")
    return {
      apiVersion: "v1",
      kind: "Pod",
      // The uid makes sure that the result is not written on another Pod of the same name.
      metadata: { name, namespace, ...(uid === undefined ? {} : { uid }) },
      status: { conditions: [{ type, ...condition, lastTransitionTime }] },
    }
  }
}

function keyOf({ metadata: { namespace = "", name } }: KubernetesObject): string {
  return `${namespace}/${name}`
}

function connectTo(host: string, port: number): Promise<Reached> {
  return new Promise(resolve => {
    const socket = connect({ host, port, timeout: CONNECT_MS })
    const settle = (reached: Reached): void => {
      socket.destroy()
      resolve(reached)
    }
    socket.on("connect", () => settle("answered"))
    socket.on("timeout", () => settle("silent"))
    socket.on("error", (error: NodeJS.ErrnoException) => settle(error.code === "ECONNREFUSED" ? "refused" : "silent"))
  })
}
