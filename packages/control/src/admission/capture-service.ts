// SPDX-License-Identifier: Apache-2.0
// Capture without privileges: a Service's target port becomes xserver's port. The original target is stored in an
// annotation, so that our change can be distinguished from a user's edit, and repeated after one.

import { FIRST_LISTEN_PORT } from "../registry/application-ports.js"
import { labelsOf, listOf, objectOf, portOf, textOf } from "../registry/foreign.js"
import { type InjectionOptions, injectionNames, MAX_PORTS } from "./injection-options.js"
import { optIn } from "./opt-in.js"
import type { PatchOperation } from "./review.js"

/** A port of the workloads behind a Service. */
export interface PortBehind {
  readonly port: number
  readonly name: string | undefined
  readonly listen: number
}

/** The ports of one workload with these labels; undefined if none is known yet. */
export type PortsBehind = (
  namespace: string,
  selector: { readonly [key: string]: string },
) => readonly PortBehind[] | undefined

export interface ServiceCapture {
  readonly patch: readonly PatchOperation[]
  readonly warnings: readonly string[]
}

const UNTOUCHED: ServiceCapture = { patch: [], warnings: [] }

export function captureService(
  service: unknown,
  place: { readonly namespace: string; readonly namespaceOptedIn: boolean },
  portsBehind: PortsBehind,
  { names }: Pick<InjectionOptions, "names">,
): ServiceCapture {
  const metadata = objectOf(objectOf(service).metadata)
  const spec = objectOf(objectOf(service).spec)
  const choice = optIn(metadata.labels, place.namespace, place.namespaceOptedIn, names)
  const selector = labelsOf(spec.selector)
  if (!choice.inject || spec.type === "ExternalName" || Object.keys(selector).length === 0) return UNTOUCHED
  const { originalTargetPorts } = injectionNames(names).annotations
  const before = originals(objectOf(metadata.annotations)[originalTargetPorts])
  const kept: Record<string, number | string> = {}
  const patch: PatchOperation[] = []
  const warnings: string[] = [...choice.warnings]
  const listen = new Listening(portsBehind(place.namespace, selector))
  for (const [at, value] of listOf(spec.ports).entries()) {
    const { protocol, port, targetPort } = objectOf(value)
    if (protocol !== undefined && protocol !== "TCP") continue
    const key = String(port)
    const written = targetOf(targetPort) ?? targetOf(port)
    if (written === undefined) continue
    // Already changed by us: the user's target is in the annotation.
    const original = isListening(written) && before[key] !== undefined ? before[key] : written
    if (isListening(original)) continue
    const to = listen.of(original)
    if (to === undefined) {
      warnings.push(
        `port ${key}: no workload behind it declares the port \`${original}\`, so its target port is not changed`,
      )
      continue
    }
    kept[key] = original
    if (to !== written) patch.push({ op: "add", path: `/spec/ports/${at}/targetPort`, value: to })
  }
  if (listen.guessed) {
    warnings.push("this Service has no known workloads yet; Merlon assumes that they declare its ports in this order")
  }
  const note = JSON.stringify(kept)
  if (Object.keys(kept).length > 0 && objectOf(metadata.annotations)[originalTargetPorts] !== note) {
    const annotations = { ...objectOf(metadata.annotations), [originalTargetPorts]: note }
    patch.push({ op: "add", path: "/metadata/annotations", value: annotations })
  }
  return { patch, warnings }
}

/** Finds xserver's port for a target. Without a known workload, ports are assigned in the order of the calls. */
class Listening {
  readonly #known: readonly PortBehind[] | undefined
  readonly #asked: (number | string)[] = []

  constructor(known: readonly PortBehind[] | undefined) {
    this.#known = known
  }

  get guessed(): boolean {
    return this.#known === undefined && this.#asked.length > 0
  }

  of(target: number | string): number | undefined {
    if (this.#known !== undefined)
      return this.#known.find(({ port, name }) => port === target || name === target)?.listen
    if (!this.#asked.includes(target)) this.#asked.push(target)
    const at = this.#asked.indexOf(target)
    return at < MAX_PORTS ? FIRST_LISTEN_PORT + at : undefined
  }
}

function isListening(target: number | string): boolean {
  return typeof target === "number" && target >= FIRST_LISTEN_PORT && target < FIRST_LISTEN_PORT + MAX_PORTS
}

function targetOf(value: unknown): number | string | undefined {
  return typeof value === "number" ? portOf(value) : textOf(value)
}

function originals(annotation: unknown): { readonly [port: string]: number | string } {
  try {
    const read = objectOf(JSON.parse(textOf(annotation) ?? "{}"))
    return Object.fromEntries(
      Object.entries(read).flatMap(([port, value]) => {
        const target = targetOf(value)
        return target === undefined ? [] : [[port, target]]
      }),
    )
  } catch {
    // Another client wrote the annotation, so the current Service counts.
    return {}
  }
}
