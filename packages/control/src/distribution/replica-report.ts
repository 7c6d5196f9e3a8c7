// SPDX-License-Identifier: Apache-2.0
// One replica's report to the others about its proxies, as the contents of a ConfigMap. Versions that many proxies
// enforce are written once; the version of the workload itself is stored per proxy. Not trusted: an unreadable report
// counts as none, and its proxies as not enforcing.

import { gunzipSync, gzipSync } from "node:zlib"
import { resourceNames } from "@merlon/xds"
import { readCalls, readEnforcer, readTime } from "./connected-proxies.js"
import type { InternedVersions } from "./interned-versions.js"
import type { ProxyRecord, Rejection } from "./ledger.js"

export interface ReplicaReport {
  /** The writer's clock in milliseconds; increases with every write. */
  readonly renewed: number
  readonly proxies: ReadonlyMap<string, ProxyRecord>
}

const MAX_COMPRESSED = 1_500_000
const MAX_TEXT = 64 * 1024 * 1024
const MAX_PROXIES = 100_000
const MAX_NAME = 2_048
const MAX_RESOURCES = 10_000

type ProxyEntry = [
  connectedAt: number,
  set: string,
  workload: string | null,
  signer: string | null,
  rejection: [revision: number, message: string, resources: string[]] | null,
  version: string | null,
  certificateNotAfter: number | null,
  calls: string | null,
  enforcer: string | null,
  pod: string | null,
]

export function encodeReport({ renewed, proxies }: ReplicaReport): Buffer {
  const sets: Record<string, Record<string, string>> = {}
  const ids = new Map<string, string>()
  const entries: Record<string, ProxyEntry> = {}
  for (const [key, record] of proxies) {
    const { connectedAt, enforced, signer, rejection, version, certificateNotAfter, calls, enforcer, pod } = record
    const others = [...enforced]
      .filter(([name]) => name !== resourceNames.workload)
      .sort(([a], [b]) => (a < b ? -1 : 1))
    const shared = Object.fromEntries(others.map(([name, { version }]) => [name, version]))
    const text = JSON.stringify(shared)
    const id = ids.get(text) ?? String(ids.size)
    ids.set(text, id)
    sets[id] = shared
    entries[key] = [
      connectedAt,
      id,
      enforced.get(resourceNames.workload)?.version ?? null,
      signer ?? null,
      rejection === undefined ? null : [rejection.revision, rejection.message, [...rejection.resources]],
      version ?? null,
      certificateNotAfter ?? null,
      calls ?? null,
      enforcer ?? null,
      pod ?? null,
    ]
  }
  return gzipSync(JSON.stringify({ renewed, sets, proxies: entries }))
}

/** Undefined if the report is invalid. */
export function decodeReport(bytes: Uint8Array, versions: InternedVersions): ReplicaReport | undefined {
  if (bytes.length > MAX_COMPRESSED) return undefined
  try {
    const text = gunzipSync(bytes, { maxOutputLength: MAX_TEXT }).toString("utf8")
    return readReport(JSON.parse(text), versions)
  } catch {
    // Not gzip, not JSON, or not our format: no part of it is used.
    return undefined
  }
}

class Unreadable extends Error {}

function readReport(value: unknown, versions: InternedVersions): ReplicaReport {
  const report = fields(value)
  const sets = new Map<string, readonly (readonly [string, string])[]>()
  for (const [id, set] of bounded(Object.entries(fields(report.sets)), MAX_PROXIES)) sets.set(id, readSet(set))
  const proxies = new Map<string, ProxyRecord>()
  for (const [key, entry] of bounded(Object.entries(fields(report.proxies)), MAX_PROXIES)) {
    proxies.set(text(key), readProxy(key, entry, sets, versions))
  }
  return { renewed: whole(report.renewed), proxies }
}

function readProxy(
  key: string,
  value: unknown,
  sets: ReadonlyMap<string, readonly (readonly [string, string])[]>,
  versions: InternedVersions,
): ProxyRecord {
  const [
    connectedAt,
    id,
    workload,
    signer,
    rejection,
    version = null,
    certificateNotAfter = null,
    calls,
    enforcer,
    pod = null,
  ] = list(value)
  const set = sets.get(text(id))
  if (set === undefined) throw new Unreadable()
  const own = workload === null ? [] : [[resourceNames.workload, text(workload)] as const]
  const enforced = versions.of([...own, ...set])
  return {
    key,
    connectedAt: whole(connectedAt),
    enforced,
    signer: signer === null ? undefined : text(signer),
    rejection: rejection === null ? undefined : readRejection(rejection),
    // Replicas of older versions do not write the following fields.
    version: version === null ? undefined : text(version),
    certificateNotAfter: readTime(certificateNotAfter),
    calls: readCalls(calls),
    enforcer: readEnforcer(enforcer),
    pod: pod === null ? undefined : text(pod),
  }
}

function readRejection(value: unknown): Rejection {
  const [revision, message, resources] = list(value)
  return {
    revision: whole(revision),
    message: text(message),
    resources: new Set(bounded(list(resources), MAX_RESOURCES).map(text)),
  }
}

function readSet(value: unknown): readonly (readonly [string, string])[] {
  return bounded(Object.entries(fields(value)), MAX_RESOURCES).map(([name, version]) => [text(name), text(version)])
}

function fields(value: unknown): { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Unreadable()
  // An object that is not an array; its fields stay unknown.
  return value as { readonly [name: string]: unknown }
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Unreadable()
  return value
}

function text(value: unknown): string {
  if (typeof value !== "string" || value.length > MAX_NAME) throw new Unreadable()
  return value
}

function whole(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw new Unreadable()
  return value
}

function bounded<T>(values: readonly T[], most: number): readonly T[] {
  if (values.length > most) throw new Unreadable()
  return values
}
