// SPDX-License-Identifier: Apache-2.0
// A compiled rule: it matches if some `from`, some `to` and every `when` match.

import type { MeshConfig } from "../mesh/config.js"
import type { Attributes } from "../request/attributes.js"
import type { Condition, Operation, Rule, Source } from "../resources/authorization-policy/definition.js"
import type { Attribute } from "./attribute.js"
import type { AttributeTable } from "./attributes.js"
import { type Clause, Criterion, clauseHolds } from "./criterion.js"
import { type Candidate, FirstMatch, type Need } from "./first-match.js"
import { expandPrincipal, expandTrustDomain } from "./trust-domains.js"

export interface PolicyRef {
  readonly namespace: string
  readonly name: string
}

export interface RuleRef {
  readonly policy: PolicyRef
  /** Position in the policy's `rules`. */
  readonly rule: number
  /** `ns[…]-policy[…]-rule[…]`, as in the logs and dashboards of other meshes. */
  readonly id: string
  /** Its name in a mesh whose rules have names of their own: `MeshConfig.dialect`. */
  readonly alias?: string
  /** The external authorizer that a CUSTOM rule asks. */
  readonly provider?: string
}

export interface RuleParts {
  /** Alternatives; an empty list means any caller. */
  readonly from: readonly Clause[]
  /** Alternatives; an empty list means any operation. */
  readonly to: readonly Clause[]
  readonly when: Clause
}

export class CompiledRule implements Candidate, RuleParts {
  readonly from: readonly Clause[]
  readonly to: readonly Clause[]
  readonly when: Clause
  readonly needs: readonly Need[]
  // A list with a single alternative is no choice: its criteria must hold like any condition.
  readonly #always: Clause
  readonly #choices: readonly AnyClause[]

  constructor(
    readonly ref: RuleRef,
    { from, to, when }: RuleParts,
  ) {
    this.from = from
    this.to = to
    this.when = when
    const lists = [to, from]
    this.#always = [...lists.filter(list => list.length === 1).flat(2), ...when]
    this.#choices = lists.filter(list => list.length > 1).map(list => new AnyClause(list))
    this.needs = [...sharedNeeds(from), ...sharedNeeds(to), ...needsOf(when)]
  }

  holds(attributes: Attributes): boolean {
    if (!clauseHolds(this.#always, attributes)) return false
    for (const choice of this.#choices) if (!choice.holds(attributes)) return false
    return true
  }

  /** The rule's `from`, `to` and `when` on a TCP connection, where HTTP fields have no meaning. */
  tcp(action: "ALLOW" | "DENY" | "AUDIT" | "CUSTOM"): CompiledRule | undefined {
    const clauses = [...this.from, ...this.to, this.when]
    if (!clauses.some(clause => clause.some(isHttpOnly))) return this
    // Fail closed in both directions: an ALLOW rule that cannot be checked allows no request, a DENY or CUSTOM rule
    // matches more.
    if (action === "ALLOW") return undefined
    const connection = (clause: Clause): Clause => clause.filter(criterion => !isHttpOnly(criterion))
    return new CompiledRule(this.ref, {
      from: this.from.map(connection),
      to: this.to.map(connection),
      when: connection(this.when),
    })
  }
}

const isHttpOnly = ({ attribute }: Criterion): boolean => attribute.httpOnly

/** Alternatives of which one must hold; if there are more than a few, they are indexed like rules. */
class AnyClause {
  readonly #clauses: readonly Clause[]
  readonly #index: FirstMatch<ClauseCandidate> | undefined

  constructor(clauses: readonly Clause[]) {
    this.#clauses = clauses
    if (clauses.length > 8) this.#index = new FirstMatch(clauses.map(clause => new ClauseCandidate(clause)))
  }

  holds(attributes: Attributes): boolean {
    if (this.#index !== undefined) return this.#index.find(attributes) !== undefined
    for (const clause of this.#clauses) if (clauseHolds(clause, attributes)) return true
    return false
  }
}

class ClauseCandidate implements Candidate {
  readonly needs: readonly Need[]

  constructor(readonly clause: Clause) {
    this.needs = needsOf(clause)
  }

  holds(attributes: Attributes): boolean {
    return clauseHolds(this.clause, attributes)
  }
}

const needsOf = (clause: Clause): readonly Need[] => clause.filter(({ negated }) => !negated)

/** The needs that all alternatives share: an attribute that only some need does not exclude the others. */
function sharedNeeds(clauses: readonly Clause[]): readonly Need[] {
  const [first, ...others] = clauses.map(needsOf)
  const shared: Need[] = []
  for (const { attribute, values } of first ?? []) {
    const same = others.map(needs => needs.find(need => need.attribute.name === attribute.name))
    const all = same.flatMap(need => need?.values ?? [])
    if (!same.includes(undefined)) shared.push({ attribute, values: [...new Set([...values, ...all])] })
  }
  return shared
}

export function compileRule(
  policy: PolicyRef,
  index: number,
  rule: Rule,
  mesh: MeshConfig,
  attributes: AttributeTable,
  provider?: string,
): CompiledRule {
  const { namespace, name } = policy
  const id = `ns[${namespace}]-policy[${name}]-rule[${index}]`
  const ref = {
    policy,
    rule: index,
    id,
    ...(mesh.dialect === "istio" && { alias: id }),
    ...(provider !== undefined && { provider }),
  }
  const domains = [mesh.trustDomain, ...mesh.trustDomainAliases]
  const values: ValueReader = (attribute, written) => compiledValues(attribute, written, namespace, domains)
  return new CompiledRule(ref, {
    from: (rule.from ?? []).map(({ source }, i) =>
      fieldsClause(`from[${i}].source`, source, attributes.source, values),
    ),
    to: (rule.to ?? []).map(({ operation }, i) =>
      fieldsClause(`to[${i}].operation`, operation, attributes.operation, values),
    ),
    when: (rule.when ?? []).flatMap((condition, i) => conditionClause(`when[${i}]`, condition, attributes, values)),
  })
}

type ValueReader = (attribute: Attribute, written: readonly string[]) => readonly string[]

function fieldsClause(
  at: string,
  written: Source | Operation | undefined,
  fields: Readonly<Record<string, Attribute>>,
  read: ValueReader,
): Clause {
  const lists: { readonly [field: string]: readonly string[] | undefined } = written ?? {}
  for (const field of Object.keys(lists)) {
    // Validation rejects unknown fields; ignoring one would widen the rule.
    if (!Object.hasOwn(fields, positive(field))) throw new RangeError(`unknown field \`${field}\` at ${at}`)
  }
  const criteria: Criterion[] = []
  for (const { spelled, attribute, negated } of spellings(fields)) {
    const values = lists[spelled]
    if (values === undefined || values.length === 0) continue
    criteria.push(new Criterion(`${at}.${spelled}`, attribute, negated, read(attribute, values)))
  }
  return criteria
}

interface Spelling {
  readonly spelled: string
  readonly attribute: Attribute
  readonly negated: boolean
}

const spellingsOf = new WeakMap<Readonly<Record<string, Attribute>>, readonly Spelling[]>()

/** Every field and its `not` field, in order; computed once, since sets have thousands of rules. */
function spellings(fields: Readonly<Record<string, Attribute>>): readonly Spelling[] {
  let known = spellingsOf.get(fields)
  if (known === undefined) {
    known = Object.entries(fields).flatMap(([field, attribute]) => [
      { spelled: field, attribute, negated: false },
      { spelled: `not${field.charAt(0).toUpperCase()}${field.slice(1)}`, attribute, negated: true },
    ])
    spellingsOf.set(fields, known)
  }
  return known
}

function positive(field: string): string {
  return field.startsWith("not") ? `${field.charAt(3).toLowerCase()}${field.slice(4)}` : field
}

function conditionClause(
  at: string,
  { key, values = [], notValues = [] }: Condition,
  attributes: AttributeTable,
  read: ValueReader,
): Clause {
  const attribute = attributes.condition(key)
  // Validation rejects unknown keys; no program is built with a condition that cannot be checked.
  if (attribute === undefined) throw new RangeError(`unknown attribute \`${key}\` at ${at}.key`)
  // The same applies to an empty condition: as a criterion it would always hold.
  if (values.length + notValues.length === 0) throw new RangeError(`neither values nor notValues at ${at}`)
  const criteria: Criterion[] = []
  if (values.length > 0) criteria.push(new Criterion(`${at}.values`, attribute, false, read(attribute, values)))
  if (notValues.length > 0) criteria.push(new Criterion(`${at}.notValues`, attribute, true, read(attribute, notValues)))
  return criteria
}

function compiledValues(
  { name }: Attribute,
  written: readonly string[],
  namespace: string,
  domains: readonly string[],
): readonly string[] {
  switch (name) {
    case "source.principal":
      return written.flatMap(value => expandPrincipal(value, domains))
    case "source.trustDomain":
      return written.flatMap(value => expandTrustDomain(value, domains))
    case "source.serviceAccount":
      return written.map(value => (value.includes("/") ? value : `${namespace}/${value}`))
    case "destination.port":
      return written.map(value => String(Number(value)))
    default:
      return written
  }
}
