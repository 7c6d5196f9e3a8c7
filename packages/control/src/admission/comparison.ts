// SPDX-License-Identifier: Apache-2.0
// What is odd about a valid document beside everything else in the cluster. Comparing only ever advises, so nobody waits
// for it: it runs in turns of about a millisecond, between which everything else has its own; one at a time, for a
// bounded number of turns; and whoever comes while another is compared is answered at once. In a thread of its own it
// would first have to be sent all policies, which costs this one more than the turns do.

import { analysis, type KnownWorkload, type MeshConfig, type PolicyDocument } from "@merlon/policy"

export interface Known {
  readonly documents: readonly PolicyDocument[]
  readonly workloads: readonly KnownWorkload[]
}

export interface ComparisonOptions {
  readonly mesh: MeshConfig
  /** What is in the cluster now; undefined where it is more than `isComparable` says. */
  readonly known: () => Known | undefined
  /** Resolves when everything else has had its turn. */
  readonly turn?: () => Promise<void>
}

const MAX_DOCUMENTS = 500
const MAX_PAIRS = 500_000
/** Some tenths of a second of our own time, on a busy machine too. */
const MAX_TURNS = 60
const ADVICE = "`merlonctl analyze` compares it with the other policies, which takes too long for now"

/** Beyond this, a comparison would say nothing within its turns; `merlonctl analyze` has the time. */
export function isComparable(documents: number, workloads: number): boolean {
  return documents <= MAX_DOCUMENTS && documents * workloads <= MAX_PAIRS
}

export class Comparison {
  readonly #options: ComparisonOptions
  readonly #turn: () => Promise<void>
  #running = false

  constructor(options: ComparisonOptions) {
    this.#options = options
    this.#turn = options.turn ?? (() => new Promise(resolve => setImmediate(resolve)))
  }

  /** Warnings about the document. Never fails. */
  async of(document: PolicyDocument): Promise<readonly string[]> {
    if (this.#running) return [ADVICE]
    this.#running = true
    try {
      return await this.#compare(document)
    } catch {
      // A fault in comparing is no fault of the document.
      return []
    } finally {
      this.#running = false
    }
  }

  async #compare(document: PolicyDocument): Promise<readonly string[]> {
    const { mesh, known } = this.#options
    const found = known()
    if (found === undefined || !isComparable(found.documents.length, found.workloads.length)) return []
    const { documents, workloads } = found
    const others = documents.filter(other => !isSame(other, document))
    const steps = analysis([...others, document], mesh, { workloads })
    for (let turns = 0; turns < MAX_TURNS; turns++) {
      const { done, value } = steps.next()
      if (done) {
        return value
          .filter(finding => finding.severity !== "info" && isSame(document, { kind: finding.kind, metadata: finding }))
          .map(({ path, why, fix }) => `${path === "" ? "" : `${path}: `}${why}; ${fix}`)
      }
      await this.#turn()
    }
    return [ADVICE]
  }
}

interface Named {
  readonly kind: string
  readonly metadata: { readonly namespace: string; readonly name: string }
}

function isSame(a: Named, b: Named): boolean {
  return a.kind === b.kind && a.metadata.namespace === b.metadata.namespace && a.metadata.name === b.metadata.name
}
