// SPDX-License-Identifier: Apache-2.0
// Writes certificates: answers with everything that another program needs to check them without trusting this one. They
// are canonical JSON (sorted names, no whitespace), written answer by answer. INVARIANT: undecided answers are never
// written.

import type { RuleRef } from "../../authorization/rule.js"
import { ruleName } from "../../authorization/rule-name.js"
import type { MeshConfig } from "../../mesh/config.js"
import type { Rule } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PolicyDocument } from "../../resources/document.js"
import type { Change, Comparison } from "../questions/compare.js"
import type { InvariantRule, InvariantVerdict } from "../questions/invariants.js"
import type { Reach } from "../questions/reach.js"
import type { ProofWorkload } from "../workload.js"
import { canonical } from "./canonical.js"
import { digestOf } from "./digest.js"
import type { Proofs } from "./proofs.js"
import { requestOf } from "./request-json.js"

export const CERTIFICATE_FORMAT = "merlon.dev/certificate/2"

/** Why there is no certificate. */
export class NotCertified extends Error {
  override readonly name = "NotCertified"
}

/** Fields of an answer, as JSON. */
type Fields = { readonly [name: string]: string }

export class Certificate {
  readonly #write: (text: string) => void
  #answers = 0
  #rejected: string | undefined

  /** `write` gets the parts of the text in order. */
  constructor(write: (text: string) => void) {
    this.#write = write
    write('{"answers":[')
  }

  compared(workloads: readonly ProofWorkload[], comparison: Comparison, proofs: Proofs): void {
    const { changes, undecided } = comparison
    if (this.#rejects(undecided, changes, proofs)) return
    this.#answer("compare", workloads, { changes: changesJson(changes), proofs: proofsJson(changes, proofs) })
  }

  checked(workloads: readonly ProofWorkload[], ref: InvariantRule, verdict: InvariantVerdict, proofs: Proofs): void {
    const broken = verdict.verdict === "broken" ? verdict : undefined
    const undecided = verdict.verdict === "undecided" ? verdict.reason : undefined
    if (this.#rejects(undecided, broken === undefined ? [] : [broken], proofs)) return
    const { invariant, holds, name } = ref
    this.#answer("invariant", workloads, {
      ...(broken && { broken: canonical({ outcome: broken.outcome, request: requestOf(broken.witness) }) }),
      holds: JSON.stringify(holds),
      invariant: JSON.stringify(`${invariant.namespace}/${invariant.name}`),
      proofs: broken === undefined ? proofs.json(() => true) : "{}",
      rule: JSON.stringify(name),
    })
  }

  /** `asked`: the requests in question, as the rule that was used in the proof. */
  reached(workload: ProofWorkload, asked: Rule, { ways, undecided }: Reach, proofs: Proofs): void {
    if (this.#rejects(undecided, ways, proofs)) return
    const shown = ways.map(({ rule, witness }) => ({
      request: requestOf(witness),
      rule: rule === undefined ? null : ruleName(rule),
    }))
    const isOpen = ways.some(({ rule }) => rule === undefined)
    this.#answer("reach", [workload], {
      asked: canonical(asked),
      proofs: isOpen ? "{}" : proofs.json(() => true),
      ways: canonical(shown),
    })
  }

  /** Records that removing the rules changes nothing. */
  unused(workload: ProofWorkload, rules: readonly RuleRef[], { changes, undecided }: Comparison, proofs: Proofs): void {
    const [change] = changes
    const wrong = change && `without the dead rules something would change: ${change.region}`
    if (this.#rejects(undecided ?? wrong, [], proofs)) return
    this.#answer("unused", [workload], { proofs: proofsJson([], proofs), rules: JSON.stringify(rules.map(ruleName)) })
  }

  /** Records what is newly allowed if the policy replaces the ALLOW policies that apply. */
  suggested(workload: ProofWorkload, policy: AuthorizationPolicy, comparison: Comparison, proofs: Proofs): void {
    const changes = comparison.changes.filter(({ to }) => to === "allow")
    if (this.#rejects(comparison.undecided, changes, proofs)) return
    this.#answer("suggested", [workload], {
      changes: changesJson(changes),
      policy: canonical(policy),
      proofs: proofsJson(changes, proofs, "allow"),
    })
  }

  /** Records that the policy allows everything that a policy with these rules allows. */
  shapes(
    workload: ProofWorkload,
    policy: AuthorizationPolicy,
    shapes: readonly Rule[],
    { changes, undecided }: Comparison,
    proofs: Proofs,
  ): void {
    const [change] = changes
    if (this.#rejects(undecided ?? (change && `the policy does not say what was seen: ${change.region}`), [], proofs))
      return
    const fields = { policy: canonical(policy), proofs: proofsJson([], proofs), shapes: canonical(shapes) }
    this.#answer("shapes", [workload], fields)
  }

  /** Throws `NotCertified`. `sets`: all policies of each side, as read. */
  end(sets: readonly (readonly PolicyDocument[])[], mesh: MeshConfig): void {
    if (this.#rejected !== undefined) throw new NotCertified(this.#rejected)
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

  /** A single answer that cannot be certified prevents the certificate, because a certificate covers all answers. */
  #rejects(undecided: string | undefined, shown: readonly unknown[], { gap, unfollowed }: Proofs): boolean {
    if (undecided !== undefined) this.#rejected ??= `it is not decided: ${undecided}`
    this.#rejected ??= gap
    if (shown.length > 0 && unfollowed !== undefined)
      this.#rejected ??= `certificates do not follow \`${unfollowed}\`, on which a request may depend`
    return this.#rejected !== undefined
  }

  #answer(kind: string, workloads: readonly ProofWorkload[], fields: Fields): void {
    const all: Fields = { ...fields, kind: JSON.stringify(kind), workloads: workloadsJson(workloads) }
    const entries = Object.keys(all)
      .sort()
      .map(name => `${JSON.stringify(name)}:${all[name]}`)
    this.#write(`${this.#answers++ === 0 ? "" : ","}{${entries.join()}}`)
  }
}

const changesJson = (changes: readonly Change[]): string =>
  canonical(changes.map(({ from, to, witness }) => ({ from, request: requestOf(witness), to })))

/** The proofs of the directions in which nothing changes; `only`: those with this outcome afterwards. */
function proofsJson(changes: readonly Change[], proofs: Proofs, only?: Change["to"]): string {
  const directions = new Set(changes.map(({ from, to }) => `${from} ${to}`))
  return proofs.json(({ from, to }) => !directions.has(`${from} ${to}`) && (only === undefined || to === only))
}

function workloadsJson(workloads: readonly ProofWorkload[]): string {
  const known = workloads.map(({ name, namespace, labels, services = [], ports = [] }) => {
    return { labels, name, namespace, ports, services }
  })
  return canonical(known)
}

const isSecurity = ({ kind }: PolicyDocument): boolean => kind !== "MeshService"

const idOf = ({ kind, metadata: { namespace, name } }: PolicyDocument): string => `${kind} ${namespace}/${name}`
