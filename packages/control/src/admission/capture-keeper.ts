// SPDX-License-Identifier: Apache-2.0
// Keeps what capture by Service rests on: the NetworkPolicy of every namespace that is captured so, and the knowledge
// whether the cluster enforces it. No API tells that, so the leader tries it: it connects to the application past
// xserver, and writes on the Pod what came of it. A Pod whose application answers is not protected, whatever is configured.

import { connect } from "node:net"
import type { MeshNames } from "@merlon/policy"
import { messageOf } from "@merlon/xds"
import { apply } from "../install/apply.js"
import type { KubernetesClient } from "../kubernetes/client.js"
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
import { addressOf, isReady } from "../registry/pod-reading.js"
import { type Capture, captureOf, isOptedIn } from "./capture-choice.js"
import { capturePolicy } from "./capture-policy.js"

export interface CaptureKeeperOptions {
  readonly client: KubernetesClient
  readonly names: MeshNames
  readonly fallback: Capture
  readonly namespaces: Reflected<KubernetesObject>
  readonly pods: Reflected<KubernetesObject>
  readonly isLeader: () => boolean
  readonly warn: (message: string, error: unknown) => void
  /** Whether somebody takes a connection there. */
  readonly reach?: (host: string, port: number) => Promise<boolean>
}

/** Soon after a change, and now and then: rules of a network take effect when they do. */
const SOON_MS = 500
const AGAIN_MS = 30_000
const CONNECT_MS = 1_500
const PARALLEL = 16

export class CaptureKeeper {
  readonly #options: CaptureKeeperOptions
  readonly #unsubscribe: readonly (() => void)[]
  /** Namespaces that have our NetworkPolicy, as far as this process wrote it. */
  readonly #kept = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: CaptureKeeperOptions) {
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

  #later(milliseconds: number): void {
    if (this.#stopped || this.#running !== undefined) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#running = this.#pass()
        .catch((error: unknown) => this.#options.warn("capture could not be looked after; trying again", error))
        .finally(() => {
          this.#running = undefined
          this.#later(AGAIN_MS)
        })
    }, milliseconds).unref()
  }

  async #pass(): Promise<void> {
    if (!this.#options.isLeader()) return
    await this.#writePolicies()
    const { pods, names } = this.#options
    const captured = [...pods.items.values()].filter(pod => isCapturedByService(pod, names) && isReady(pod))
    for (let at = 0; at < captured.length && !this.#stopped; at += PARALLEL) {
      await Promise.all(captured.slice(at, at + PARALLEL).map(pod => this.#look(pod)))
    }
  }

  async #writePolicies(): Promise<void> {
    const { client, names, namespaces, fallback, warn } = this.#options
    for (const { metadata } of namespaces.items.values()) {
      const labels = labelsOf(metadata.labels)
      const wanted = isOptedIn(labels, names) && captureOf(labels, fallback, names) === "service"
      if (metadata.deletionTimestamp !== undefined || (!wanted && !this.#kept.has(metadata.name))) continue
      const manifest = capturePolicy(names, metadata.name)
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
    const { client, names, reach = answers, warn } = this.#options
    const host = addressOf(pod)
    if (host === undefined) return
    const ports = applicationPorts(pod.spec, names).map(({ port }) => port)
    const tried = await Promise.all(ports.map(async port => ((await reach(host, port)) ? [port] : [])))
    const condition = capturedCondition(tried.flat())
    const before = capturedConditionOf(pod, names)
    if (before?.status === condition.status && before.message === condition.message) return
    try {
      await client.patch(PODS, pod.metadata.name, this.#report(pod, condition), {
        namespace: pod.metadata.namespace ?? "default",
        subresource: "status",
        type: "apply",
      })
    } catch (error) {
      warn(`what was seen of the Pod \`${pod.metadata.name}\` could not be written: ${messageOf(error)}`, error)
    }
  }

  #report({ metadata }: KubernetesObject, condition: CapturedCondition): KubernetesObject {
    const { name, namespace = "default", uid } = metadata
    const type = `${this.#options.names.domain}/Captured`
    const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z")
    return {
      apiVersion: "v1",
      kind: "Pod",
      // Another Pod of the same name is not the one that was tried.
      metadata: { name, namespace, ...(uid === undefined ? {} : { uid }) },
      status: { conditions: [{ type, ...condition, lastTransitionTime }] },
    }
  }
}

function answers(host: string, port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port, timeout: CONNECT_MS })
    const settle = (reached: boolean): void => {
      socket.destroy()
      resolve(reached)
    }
    socket.on("connect", () => settle(true))
    socket.on("timeout", () => settle(false))
    socket.on("error", () => settle(false))
  })
}
