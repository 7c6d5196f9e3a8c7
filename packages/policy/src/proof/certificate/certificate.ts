// SPDX-License-Identifier: Apache-2.0
// Writes certificates: answers with everything that another program needs to check them without trusting this one. Canonical
// JSON (sorted names, no blanks), written answer by answer. INVARIANT: what was not decided is never written.

import type { MeshConfig } from "../../mesh/config.js"
import type { PolicyDocument } from "../../resources/document.js"
import type { Comparison } from "../questions/compare.js"
import type { InvariantRule, InvariantVerdict } from "../questions/invariants.js"
import type { ProofWorkload } from "../workload.js"
import { canonical } from "./canonical.js"
import { digestOf } from "./digest.js"
import type { Proofs } from "./proofs.js"

export const CERTIFICATE_FORMAT = "merlon.dev/certificate/1"

/** Why there is no certificate. */
export class NotCertified extends Error {
  override readonly name = "NotCertified"
}

export class Certificate {
  readonly #write: (text: string) => void
  #answers = 0
  #refused: string | undefined

  /** `write` gets the parts of the text in order. */
  constructor(write: (text: string) => void) {
    this.#write = write
    write('{"answers":[')
  }

  compared(workloads: readonly ProofWorkload[], { changes, undecided }: Comparison, proofs: Proofs): void {
    if (this.#refuses(undecided, changes.length > 0, proofs)) return
    const directions = new Set(changes.map(({ from, to }) => `${from} ${to}`))
    this.#answer({
      changes: canonical(changes.map(({ from, to, witness }) => ({ from, to, request: witness }))),
      kind: '"compare"',
      proofs: proofs.json(({ from, to }) => from === undefined || !directions.has(`${from} ${to}`)),
      workloads: workloadsJson(workloads),
    })
  }

  checked(workloads: readonly ProofWorkload[], ref: InvariantRule, verdict: InvariantVerdict, proofs: Proofs): void {
    const undecided = verdict.verdict === "undecided" ? verdict.reason : undefined
    if (this.#refuses(undecided, verdict.verdict === "broken", proofs)) return
    const { invariant, holds, name } = ref
    const broken = verdict.verdict === "broken" ? { outcome: verdict.outcome, request: verdict.witness } : undefined
    this.#answer({
      ...(broken === undefined ? {} : { broken: canonical(broken) }),
      holds: JSON.stringify(holds),
      invariant: JSON.stringify(`${invariant.namespace}/${invariant.name}`),
      kind: '"invariant"',
      proofs: broken === undefined ? proofs.json(() => true) : "{}",
      rule: JSON.stringify(name),
      workloads: workloadsJson(workloads),
    })
  }

  /** Throws `NotCertified`. `sets`: all policies of each side, as they were read. */
  end(sets: readonly (readonly PolicyDocument[])[], mesh: MeshConfig): void {
    if (this.#refused !== undefined) throw new NotCertified(this.#refused)
    if (this.#answers === 0) throw new NotCertified("there is no answer to certify")
    const { names, trustDomain, trustDomainAliases, pathNormalization, numTrustedProxies } = mesh
    const settings = {
      aliases: trustDomainAliases,
      dryRun: names.dryRunAnnotation,
      paths: pathNormalization,
      proxies: numTrustedProxies,
      rootNamespace: names.rootNamespace,
      trustDomain,
    }
    const policies = sets.map(set => Object.fromEntries(set.filter(isSecurity).map(one => [idOf(one), digestOf(one)])))
    const format = JSON.stringify(CERTIFICATE_FORMAT)
    this.#write(`],"format":${format},"mesh":${canonical(settings)},"policies":${canonical(policies)}}\n`)
  }

  /** One answer that cannot be certified is enough: a certificate is about all of them. */
  #refuses(undecided: string | undefined, hasRequest: boolean, { gap, unfollowed }: Proofs): boolean {
    if (undecided !== undefined) this.#refused ??= `it is not decided: ${undecided}`
    this.#refused ??= gap
    if (hasRequest && unfollowed !== undefined)
      this.#refused ??= `certificates do not follow \`${unfollowed}\`, on which a request may depend`
    return this.#refused !== undefined
  }

  /** Values are JSON already; names stand in their order. */
  #answer(fields: { readonly [name: string]: string }): void {
    const entries = Object.entries(fields).map(([name, json]) => `${JSON.stringify(name)}:${json}`)
    this.#write(`${this.#answers++ === 0 ? "" : ","}{${entries.join()}}`)
  }
}

function workloadsJson(workloads: readonly ProofWorkload[]): string {
  const known = workloads.map(({ name, namespace, labels, services = [], ports = [] }) => {
    return { labels, name, namespace, ports, services }
  })
  return canonical(known)
}

const isSecurity = ({ kind }: PolicyDocument): boolean => kind !== "MeshService"

const idOf = ({ kind, metadata: { namespace, name } }: PolicyDocument): string => `${kind} ${namespace}/${name}`
