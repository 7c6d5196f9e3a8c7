// SPDX-License-Identifier: Apache-2.0
// The certificates that the control plane keeps beside the history: fetched one by one, and compared with the digests in
// the entries.

import { createHash } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { HistoryEntry } from "@merlon/control/history"
import { ApiError } from "@merlon/control/kubernetes"
import { CommandError } from "../exit.js"
import { fieldsOf, listOf, textOf } from "../foreign.js"
import { observedPath } from "../observed/answers-api.js"
import type { Session } from "../session.js"

export interface StoredCertificate {
  readonly text: string
  /** The policies on each side. */
  readonly before: readonly unknown[]
  readonly after: readonly unknown[]
  /** Whether it has the digest that the entry names. */
  readonly isUnchanged: boolean
}

/** The control plane takes eight queries of a user at once. */
const PARALLEL = 4

/** As the API and the text of `merlonctl history` name an entry. */
export function entryName({ sequence, digest }: HistoryEntry): string {
  return `${sequence}-${digest.slice(0, 12)}`
}

/** Throws `not-certified` with the reason if none is kept. */
export async function keptCertificate(session: Session, entry: HistoryEntry): Promise<StoredCertificate> {
  const { namespace, certificate } = entry
  const query = new URLSearchParams({ evidence: "true" })
  const path = observedPath(session, { resource: "changes", namespace, name: entryName(entry), query })
  const { spec } = fieldsOf(await session.api.request({ method: "GET", path }).catch(notKept))
  const { certificate: text, before, after, others } = fieldsOf(fieldsOf(spec).evidence)
  const found = textOf(text) ?? ""
  const sideOf = (one: unknown): readonly unknown[] => [...listOf(others), ...(one === undefined ? [] : [one])]
  const digest = createHash("sha256").update(found).digest("hex")
  const isUnchanged = certificate !== undefined && "digest" in certificate && certificate.digest === digest
  return { text: found, before: sideOf(before), after: sideOf(after), isUnchanged }
}

function notKept(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== 404) throw error
  throw new CommandError("not-certified", `no certificate written: ${error.message}`)
}

export interface CheckedCertificates {
  readonly kept: number
  readonly changed: readonly string[]
}

/** Compares every certificate that is kept with the digest in its entry. */
export async function checkedCertificates(
  session: Session,
  entries: readonly HistoryEntry[],
): Promise<CheckedCertificates> {
  const left = entries.filter(({ certificate }) => certificate !== undefined && "digest" in certificate)
  const changed: string[] = []
  let kept = 0
  const next = async (): Promise<void> => {
    for (let entry = left.shift(); entry !== undefined; entry = left.shift()) {
      const certificate = await keptCertificate(session, entry).catch((error: unknown) => {
        if (error instanceof CommandError && error.code === "not-certified") return undefined
        throw error
      })
      if (certificate === undefined) continue
      kept++
      if (!certificate.isUnchanged) changed.push(`the certificate of entry ${entry.sequence} was changed`)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, next))
  return { kept, changed: changed.sort() }
}

/** Writes `before/policies.yaml` and `after/policies.yaml`. JSON is YAML. */
export function writePolicies(folder: string, { before, after }: StoredCertificate): void {
  for (const [side, policies] of Object.entries({ before, after })) {
    mkdirSync(join(folder, side), { recursive: true })
    const texts = policies.map(policy => `${JSON.stringify(policy, undefined, 2)}\n`)
    writeFileSync(join(folder, side, "policies.yaml"), texts.join("---\n"))
  }
}
