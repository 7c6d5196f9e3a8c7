// SPDX-License-Identifier: Apache-2.0
// Checks a certificate against policies. `docs/evidence.md` describes the format and what a valid certificate means.

import { actionOf, type Mesh, type Policy, readPolicy, scopeOf, type Workload } from "./policies.js"
import {
  checkModelled,
  contextOf,
  framesOf,
  givenNeeds,
  givenOf,
  joined,
  OUTCOMES,
  type Outcome,
  type Problem,
  problemsOf,
  type Side,
  type Stages,
  sideOf,
  stagesOf,
} from "./problems.js"
import {
  canonical,
  dnsName,
  type Fields,
  fields,
  Invalid,
  integer,
  list,
  MAX_STEPS,
  oneOf,
  pairs,
  startSpending,
  text,
  texts,
  within,
} from "./read.js"
import { checkRefuted } from "./refute.js"
import { Shown } from "./request.js"
import { type Context, type Frame, hasToken, type Region, regionOf } from "./rules.js"

export const FORMAT = "merlon.dev/certificate/2"

type Sets = readonly (readonly Policy[])[]

export interface Checked {
  /** What the certificate proves, one line for each answer. */
  readonly proved: readonly string[]
  /** What it says about mesh and workloads, which cannot be confirmed here. */
  readonly assumed: readonly string[]
}

/** `sets`: all existing policies of each side. Throws `Invalid` if the certificate is not valid. */
export function checkCertificate(written: string, sets: Sets, maxSteps = MAX_STEPS): Checked {
  startSpending(maxSteps)
  return within("", () => checkAnswers(written, sets))
}

function checkAnswers(written: string, sets: Sets): Checked {
  const certificate: unknown = JSON.parse(written)
  if (`${canonical(certificate)}\n` !== written) throw new Invalid("the certificate is not canonical JSON")
  const { answers, format, mesh, policies } = fields(certificate, "certificate", [
    "answers",
    "format",
    "mesh",
    "policies",
  ])
  if (format !== FORMAT) throw new Invalid(`the format is not \`${FORMAT}\``)
  const lists = list(policies, "policies")
  if (lists.length !== sets.length)
    throw new Invalid(
      lists.length === 2
        ? "the certificate compares two sets of policies; pass --from and --to"
        : `the certificate is about ${lists.length} set of policies; pass --policies`,
    )
  for (const [at, set] of sets.entries()) checkDigests(new Map(pairs(lists[at], "policies")), set)
  const settings = meshOf(mesh)
  for (const set of sets) checkVersions(set, settings)
  const all = list(answers, "answers")
  if (all.length === 0) throw new Invalid("there is no answer")
  const assumed = new Set([`mesh: ${canonical(mesh)}`])
  const proved = all.map((answer, at) =>
    within(`answer ${at}: `, () => {
      const read = new Answer(answer, sets, settings)
      const claim = read.check()
      for (const one of read.workloads) assumed.add(`workload: ${canonical(one)}`)
      return claim
    }),
  )
  return { proved, assumed: [...assumed] }
}

function checkDigests(claim: ReadonlyMap<string, string>, set: readonly Policy[]): void {
  const names = new Map(set.map(({ kind, namespace, name, digest }) => [`${kind} ${namespace}/${name}`, digest]))
  if (names.size < set.length) throw new Invalid("two policies have the same name")
  for (const name of new Set([...claim.keys(), ...names.keys()])) {
    if (!claim.has(name)) throw new Invalid(`${name} was not there when it was proved`)
    if (claim.get(name) !== names.get(name))
      throw new Invalid(`${name} is ${names.has(name) ? "not the one that was proved" : "not there"}`)
  }
}

/** Another mesh has kinds with the same names. */
function checkVersions(set: readonly Policy[], { dryRun }: Mesh): void {
  const served = ["v1alpha3", "v1beta1", "v1"].map(version => `security.${dryRun.split("/")[0]}/${version}`)
  for (const { apiVersion, kind, name } of set) oneOf(apiVersion, served, `${kind} ${name}`)
}

function meshOf(value: unknown): Mesh {
  const read = fields(value, "mesh", ["aliases", "dryRun", "paths", "proxies", "rootNamespace", "trustDomain"])
  const mesh = {
    aliases: texts(read.aliases, "mesh.aliases"),
    dryRun: text(read.dryRun, "mesh.dryRun"),
    paths: oneOf(read.paths, ["NONE", "BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES"], "mesh.paths"),
    proxies: integer(read.proxies, "mesh.proxies", 0, 1_000),
    rootNamespace: text(read.rootNamespace, "mesh.rootNamespace"),
    trustDomain: text(read.trustDomain, "mesh.trustDomain"),
  }
  // With another annotation, policies that have it would be in shadow mode.
  if (!mesh.rootNamespace.endsWith("-system")) throw new Invalid("mesh.rootNamespace is no root namespace")
  if (!/^[a-z0-9.-]+\/dry-run$/.test(mesh.dryRun)) throw new Invalid("mesh.dryRun is no name of that annotation")
  return mesh
}

function workloadOf(value: unknown): Workload {
  const read = fields(value, "workload", ["labels", "name", "namespace", "ports", "services"])
  return {
    name: dnsName(read.name, "workload"),
    namespace: dnsName(read.namespace, "workload"),
    labels: new Map(pairs(read.labels, "labels")),
    services: texts(read.services, "services"),
    ports: list(read.ports, "ports").map(port => String(integer(port, "a port", 1, 65_535))),
  }
}

interface Round {
  readonly frame: Frame
  readonly contexts: readonly Context[]
  readonly stages: readonly Stages[]
}

/** The fields of each kind, in addition to `kind`, `proofs` and `workloads`. */
const KINDS: { readonly [kind: string]: readonly string[] } = {
  compare: ["changes"],
  invariant: ["broken", "holds", "invariant", "rule"],
  reach: ["asked", "ways"],
  shapes: ["policy", "shapes"],
  suggested: ["changes", "policy"],
  unused: ["rules"],
}

class Answer {
  readonly #answer: Fields
  readonly #proofs: Map<string, unknown>
  /** In their original form. */
  readonly workloads: readonly unknown[]
  readonly #workloads: readonly Workload[]
  readonly #workload: Workload
  #sides: readonly Side[] = []
  readonly #known = new Map<string, Round>()

  constructor(
    answer: unknown,
    readonly sets: Sets,
    readonly mesh: Mesh,
  ) {
    const kind = String(fields(answer, "answer").kind)
    if (!Object.hasOwn(KINDS, kind)) throw new Invalid("it is of a kind that is not known")
    this.#answer = fields(answer, "answer", ["kind", "proofs", "workloads", ...(KINDS[kind] ?? [])])
    this.#proofs = new Map(Object.entries(fields(this.#answer.proofs, "proofs")))
    this.workloads = list(this.#answer.workloads, "workloads")
    this.#workloads = this.workloads.map(workloadOf)
    const [first] = this.#workloads
    if (first === undefined) throw new Invalid("it is about no workload")
    this.#workload = first
  }

  /** Returns the checked statement in words. */
  check(): string {
    const claim = this.#claim()
    for (const unused of this.#proofs.keys()) throw new Invalid(`the proof \`${unused}\` is of nothing that is claimed`)
    return `${this.#workloads.map(({ namespace, name }) => `${namespace}/${name}`).join(", ")}: ${claim}`
  }

  #claim(): string {
    const { kind } = this.#answer
    if (kind === "compare") {
      if (this.sets.length !== 2) throw new Invalid("a comparison is of two sets")
      return this.#compared(this.sets, this.#answer.changes)
    }
    const [set = [], ...others] = this.sets
    if (others.length > 0) throw new Invalid("it is about one set")
    switch (kind) {
      case "invariant":
        return this.#invariant(set)
      case "reach":
        return this.#reach(set)
      case "unused":
        return this.#unused(set)
      case "suggested": {
        const others = set.filter(one => actionOf(one) !== "ALLOW")
        const changed = [set, [...others, this.#suggested()]]
        const claim = this.#compared(changed, this.#answer.changes, "allow")
        return `with ${this.#name()} instead of the present ALLOW policies, ${claim}`
      }
      default: {
        const tokens = set.filter(one => one.kind === "RequestAuthentication")
        const shapes = this.#suggested({ rules: list(this.#answer.shapes, "shapes") })
        this.#compared(
          [
            [...tokens, shapes],
            [...tokens, this.#suggested()],
          ],
          [],
        )
        return `${this.#name()} allows exactly the shapes of calls in the certificate`
      }
    }
  }

  /** The suggested policy as if it were enforced. */
  #suggested(change: Fields = {}): Policy {
    const policy = readPolicy(this.#answer.policy, "default")
    if (policy === undefined || actionOf(policy) !== "ALLOW") throw new Invalid("it suggests no ALLOW policy")
    checkVersions([policy], this.mesh)
    if (this.#workloads.some(one => scopeOf(policy, one, this.mesh) === undefined))
      throw new Invalid("the suggested policy is not about every workload")
    const spec = { ...policy.spec, enforcement: "Enforce", ...change }
    return { ...policy, annotations: {}, spec, digest: `suggested ${canonical(spec)}` }
  }

  #name(): string {
    const { namespace, name } = this.#suggested()
    return `${namespace}/${name}`
  }

  /** The policies that apply to the workloads, which must be the same for all of them. */
  #ask(sets: Sets): readonly Side[] {
    const sidesOf = (workload: Workload) => sets.map(set => sideOf(set, workload, this.mesh))
    const keyOf = ({ ports }: Workload, sides: readonly Side[]) =>
      JSON.stringify([
        [...ports].sort(),
        sides.map(({ policies, modes }) => [policies.map(one => one.digest), [...modes]]),
      ])
    const sides = sidesOf(this.#workload)
    const key = keyOf(this.#workload, sides)
    if (this.#workloads.some(one => keyOf(one, sidesOf(one)) !== key))
      throw new Invalid("not every workload has the same policies")
    this.#sides = sides
    this.#known.clear()
    return sides
  }

  #rounds(): readonly Round[] {
    return framesOf(this.#sides).map(frame => this.#round(frame))
  }

  #round(frame: Frame): Round {
    const id = JSON.stringify(frame)
    const known = this.#known.get(id)
    if (known !== undefined) return known
    const contexts = this.#sides.map(side => contextOf(side, frame, this.mesh))
    const stages = this.#sides.map((side, at) => stagesOf(side, at, contexts[at] as Context)) // one for each side
    const round = { frame, contexts, stages }
    this.#known.set(id, round)
    return round
  }

  #refuted(name: string, problem: Problem, { frame, stages }: Round): void {
    const id = `${frame.http ? "http" : "tcp"} ${frame.identity ? "mtls" : "plaintext"} ${frame.token} ${name}`
    const all = stages.flatMap(one => [one.transport, one.missing, one.good ?? [], one.deny, one.allow])
    const whole = joined({ needs: givenNeeds(frame), bans: [] }, problem)
    const regions = new Map([...all, ...whole.needs].flat().map(region => [region.label, region]))
    const given = givenOf(this.#sides, this.#workload, this.mesh)
    within(`${id}: `, () => checkRefuted(whole, this.#proofs.get(id), given, regions))
    this.#proofs.delete(id)
  }

  #shown(request: unknown): { readonly shown: Shown; readonly round: Round } {
    const shown = new Shown(request, this.#sides, givenOf(this.#sides, this.#workload, this.mesh))
    return { shown, round: this.#round(shown.frame) }
  }

  #comesTo(shown: Shown, { stages }: Round, at: number, outcome: unknown): void {
    const problems = problemsOf(stages[at] as Stages, oneOf(outcome, OUTCOMES, "an outcome")) // one for each side
    if (!problems.some(problem => shown.solves(problem)))
      throw new Invalid(`the request does not come to \`${String(outcome)}\``)
  }

  /**
   * Each change is real, and no request changes in a direction that is not listed. `only`: this one of the outcomes
   * after.
   */
  #compared(sets: Sets, changes: unknown, only?: Outcome): string {
    const [same, other] = this.#ask(sets).map(({ policies }) => policies.map(({ digest }) => digest).join())
    const all = list(changes, "changes")
    if (same === other && all.length === 0) return "no request is decided differently: the policies are the same"
    checkModelled(this.#sides, [], this.mesh, true)
    const found = new Set<string>()
    for (const change of all) {
      const { from, request, to } = fields(change, "change", ["from", "request", "to"])
      if (from === to) throw new Invalid("a change is none")
      const { shown, round } = this.#shown(request)
      for (const [at, outcome] of [from, to].entries()) this.#comesTo(shown, round, at, outcome)
      found.add(`${String(from)} to ${String(to)}`)
    }
    for (const round of this.#rounds()) {
      const [before, after] = round.stages as [Stages, Stages] // two sides
      for (const from of OUTCOMES) {
        for (const to of OUTCOMES) {
          if (from === to || found.has(`${from} to ${to}`) || to !== (only ?? to)) continue
          for (const [i, old] of problemsOf(before, from).entries())
            for (const [j, young] of problemsOf(after, to).entries())
              this.#refuted(`${from} ${i} ${to} ${j}`, joined(old, young), round)
        }
      }
    }
    const directions = [...found].map(one => `some requests change from ${one}`)
    const none = only === undefined ? "no request is decided differently" : "no request is newly allowed"
    return [...directions, found.size > 0 ? "no request changes otherwise" : none].join(", ")
  }

  #invariant(set: readonly Policy[]): string {
    const { broken, invariant: id, rule: called } = this.#answer
    const holds = oneOf(this.#answer.holds, ["never", "always"], "holds")
    const invariant = set.find(one => one.kind === "PolicyInvariant" && `${one.namespace}/${one.name}` === id)
    const stated = list(invariant?.spec[holds] ?? [], "invariant").map(one => fields(one, "invariant"))
    const [found, ...others] = stated.filter(({ name }) => name === called)
    if (invariant === undefined || found === undefined || others.length > 0)
      throw new Invalid("there is no such invariant, or there are several")
    if (this.#workloads.some(one => scopeOf(invariant, one, this.mesh) === undefined))
      throw new Invalid("the invariant is not about every workload")
    const { name, ...rule } = found
    checkModelled(this.#ask([set]), [rule], this.mesh, broken === undefined)
    const wrong: readonly Outcome[] = holds === "never" ? ["allow"] : ["deny", "unauthenticated", "transport"]
    const askedIn = ({ frame, contexts, stages }: Round): Problem | undefined => {
      const region = regionOf(rule, invariant, "question", "ALLOW", contexts[0] as Context) // one side
      const good = holds === "always" && hasToken(frame) ? [stages[0]?.good ?? []] : []
      return region && { needs: [[region], ...good], bans: [] }
    }
    const claim = `${holds} ${canonical(name)} of ${invariant.namespace}/${invariant.name}`
    if (broken !== undefined) {
      const { outcome, request } = fields(broken, "broken", ["outcome", "request"])
      const { shown, round } = this.#shown(request)
      const asked = askedIn(round)
      if (!wrong.some(one => one === outcome) || asked === undefined || !shown.solves(asked))
        throw new Invalid("such a request does not break it")
      this.#comesTo(shown, round, 0, outcome)
      return `${claim} is broken`
    }
    for (const round of this.#rounds()) {
      const asked = askedIn(round)
      for (const outcome of asked === undefined ? [] : wrong)
        for (const [i, problem] of problemsOf(round.stages[0] as Stages, outcome).entries()) // one side
          this.#refuted(`${outcome} ${i}`, joined(asked as Problem, problem), round)
    }
    return `${claim} holds`
  }

  /**
   * Every request that is asked about and allowed matches the rule of one of the ways; each way has an example request.
   */
  #reach(set: readonly Policy[]): string {
    const { asked, ways } = this.#answer
    checkModelled(this.#ask([set]), [asked], this.mesh, true)
    const asker = { namespace: this.#workload.namespace, name: "question" }
    if (this.#workloads.some(one => one.namespace !== asker.namespace))
      throw new Invalid("the namespaces are different")
    const regionIn = ({ contexts }: Round): Region | undefined =>
      regionOf(asked, asker, "question", "ALLOW", contexts[0] as Context) // one side
    const named = new Set<string>()
    for (const way of list(ways, "ways")) {
      const { request, rule } = fields(way, "way", ["request", "rule"])
      const { shown, round } = this.#shown(request)
      const stages = round.stages[0] as Stages // one side
      const through = stages.allow.find(({ label }) => label === `0 ${String(rule)}`)
      const region = regionIn(round)
      const isThrough = stages.closed ? through && shown.lies(through) : rule === null
      if (!isThrough || region === undefined || !shown.lies(region)) throw new Invalid("such a request is no way")
      this.#comesTo(shown, round, 0, "allow")
      named.add(`0 ${String(rule)}`)
    }
    for (const round of this.#rounds()) {
      const region = regionIn(round)
      const stages = round.stages[0] as Stages // one side
      if (region === undefined || (!stages.closed && named.size > 0)) continue
      const allow = stages.allow.filter(({ label }) => !named.has(label))
      for (const problem of problemsOf({ ...stages, allow }, "allow"))
        this.#refuted("allow 0", joined({ needs: [[region]], bans: [] }, problem), round)
    }
    const rules = [...named].map(label => (label === "0 null" ? "no rule, as no ALLOW policy applies" : label.slice(2)))
    const by = rules.length === 0 ? "by nothing" : `only by ${rules.join(", ")}`
    return `requests of ${canonical(asked)} are allowed ${by}`
  }

  /** Nothing is decided differently without the rules. */
  #unused(set: readonly Policy[]): string {
    const rules = texts(this.#answer.rules, "rules")
    const gone = new Set(rules)
    const left = set.map(policy => {
      const { kind, namespace, name, spec } = policy
      if (kind !== "AuthorizationPolicy") return policy
      const kept = list(spec.rules ?? [], name).filter((_, at) => !gone.delete(`${namespace}/${name}[${at}]`))
      return { ...policy, spec: { ...spec, rules: kept }, digest: `${policy.digest} with ${kept.length} rules` }
    })
    if (rules.length === 0 || gone.size > 0) throw new Invalid(`there is no rule ${[...gone].join(", ")}`)
    return `without ${rules.join(", ")}, ${this.#compared([set, left], [])}`
  }
}
