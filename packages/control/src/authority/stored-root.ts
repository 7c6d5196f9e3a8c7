// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the root and its rotation state as stored in a Secret. Pure. Partly unreadable data is rejected
// as a whole.

import { type AuthorityKeys, bundleOf, CertificateAuthority, type RotationState } from "@merlon/identity"
import { messageOf } from "@merlon/xds/runtime"

export interface StoredRoot {
  readonly state: RotationState
  /** The longest lifetime of any certificate so far. Raised here before such a certificate is issued. */
  readonly longestTtlMs: number
  /** When the last certificate of the old root expires, while there is an old root. */
  readonly lastOldExpiry: number
  /** Fingerprints of former roots, by which a workload that missed a rotation recognises the new root. */
  readonly past: readonly string[]
}

export type StoredRootResult =
  | { readonly ok: true; readonly stored: StoredRoot }
  | { readonly ok: false; readonly message: string }

const FILES = {
  current: ["ca-cert.pem", "ca-key.pem"],
  next: ["next-cert.pem", "next-key.pem"],
  previous: ["previous-cert.pem", "previous-key.pem"],
} as const
const STATE = "state.json"
/** For users and tools that read the Secret; we do not read it. */
const BUNDLE = "root-cert.pem"
const MAX_PAST = 16

export function readStoredRoot(data: ReadonlyMap<string, string>, now: number): StoredRootResult {
  try {
    const record = readRecord(data.get(STATE))
    const current = readKeys(data, "current", now)
    const standing = { current, since: record.since, demand: record.demand }
    return { ok: true, stored: { ...record.rest, state: readPhase(record.phase, standing, data, now) } }
  } catch (error) {
    return { ok: false, message: messageOf(error) }
  }
}

export function writeStoredRoot({ state, longestTtlMs, lastOldExpiry, past }: StoredRoot): ReadonlyMap<string, string> {
  const { phase, since, demand } = state
  return new Map([
    ...writeKeys("current", state.current),
    ...(state.phase === "distribute" ? writeKeys("next", state.next) : []),
    ...(state.phase === "sign" ? writeKeys("previous", state.previous) : []),
    [BUNDLE, bundleOf(state)],
    [STATE, `${JSON.stringify({ phase, since, demand, longestTtlMs, lastOldExpiry, past: past.slice(-MAX_PAST) })}\n`],
  ])
}

function readPhase(
  phase: unknown,
  standing: { current: AuthorityKeys; since: number; demand: string },
  data: ReadonlyMap<string, string>,
  now: number,
): RotationState {
  switch (phase) {
    case "steady":
    case "retire":
      return { phase, ...standing }
    case "distribute":
      return { phase, ...standing, next: readKeys(data, "next", now) }
    case "sign":
      return { phase, ...standing, previous: readKeys(data, "previous", undefined) }
    default:
      throw new Error(`\`${STATE}\` has no valid \`phase\``)
  }
}

/** Creates an authority from the keys, which also validates them. An old root may have expired in the meantime. */
function readKeys(data: ReadonlyMap<string, string>, which: keyof typeof FILES, now: number | undefined) {
  const [certificateFile, keyFile] = FILES[which]
  const certificate = data.get(certificateFile)
  const privateKey = data.get(keyFile)
  if (certificate === undefined) throw new Error(`\`${certificateFile}\` is missing`)
  if (privateKey === undefined) throw new Error(`\`${keyFile}\` is missing`)
  const keys: AuthorityKeys = { certificateChain: certificate, privateKey, root: certificate }
  try {
    // If the date does not matter, any moment before the expiry will do.
    return new CertificateAuthority(keys, now ?? Number.NEGATIVE_INFINITY).keys
  } catch (error) {
    throw new Error(`\`${certificateFile}\` and \`${keyFile}\`: ${messageOf(error)}`)
  }
}

function readRecord(text: string | undefined) {
  if (text === undefined) throw new Error(`\`${STATE}\` is missing`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error(`\`${STATE}\` is not JSON`)
  }
  if (typeof value !== "object" || value === null) throw new Error(`\`${STATE}\` is not an object`)
  const record = value as Record<string, unknown> // its members are checked below
  const past = record.past
  if (!Array.isArray(past) || !past.every(entry => typeof entry === "string")) {
    throw new Error(`\`${STATE}\` lacks the list \`past\``)
  }
  const demand = record.demand
  if (typeof demand !== "string") throw new Error(`\`${STATE}\` lacks the string \`demand\``)
  return {
    phase: record.phase,
    since: numberOf(record, "since"),
    demand,
    rest: {
      longestTtlMs: numberOf(record, "longestTtlMs"),
      lastOldExpiry: numberOf(record, "lastOldExpiry"),
      past: past as readonly string[], // each was checked to be a string
    },
  }
}

function numberOf(record: Record<string, unknown>, name: string): number {
  const value = record[name]
  if (typeof value !== "number" || !Number.isFinite(value)) throw new Error(`\`${STATE}\` lacks the number \`${name}\``)
  return value
}

function writeKeys(which: keyof typeof FILES, { certificateChain, privateKey }: AuthorityKeys): [string, string][] {
  const [certificateFile, keyFile] = FILES[which]
  return [
    [certificateFile, certificateChain],
    [keyFile, privateKey],
  ]
}
