// SPDX-License-Identifier: Apache-2.0
// The probes that xserver answers for a workload, from the annotation that injection writes on the Pod: an object of
// ProbeSpec by path. If any part is invalid, the whole annotation is ignored.

import type { ProbeSpec } from "@merlon/xds"
import { listOf, objectOf, portOf } from "./foreign.js"

export type Probes = { readonly [path: string]: ProbeSpec }

export const NO_PROBES: Probes = Object.freeze({})

const MAX_TEXT = 64 * 1024
const MAX_PROBES = 64
const MAX_TIMEOUT_MS = 3_600_000

/** Undefined if the text is invalid. */
export function parseProbes(text: string): Probes | undefined {
  if (text.length > MAX_TEXT) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
  const entries = Object.entries(objectOf(value))
  if (entries.length > MAX_PROBES) return undefined
  const probes: Record<string, ProbeSpec> = {}
  for (const [path, entry] of entries) {
    const probe = path.startsWith("/") ? readProbe(entry) : undefined
    if (probe === undefined) return undefined
    probes[path] = probe
  }
  return probes
}

const KINDS: readonly unknown[] = ["http", "https", "tcp", "grpc"] satisfies ProbeSpec["kind"][]

function isKind(kind: unknown): kind is ProbeSpec["kind"] {
  return KINDS.includes(kind)
}

function readProbe(entry: unknown): ProbeSpec | undefined {
  const { kind, port: number, path, headers, timeoutMs } = objectOf(entry)
  const port = portOf(number)
  if (!isKind(kind) || port === undefined || typeof path !== "string") return undefined
  if (typeof timeoutMs !== "number" || !(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) return undefined
  const lines = Object.entries(objectOf(headers))
  if (listOf(headers).length > 0 || lines.some(([, line]) => typeof line !== "string")) return undefined
  // Every value was checked to be a string.
  return { kind, port, path, headers: Object.fromEntries(lines) as ProbeSpec["headers"], timeoutMs }
}
