// SPDX-License-Identifier: Apache-2.0
// Checks a certificate against policies. `docs/evidence.md` describes the format and what a valid certificate means.

import { type Mesh, type Policy, scopeOf, type Workload } from "./policies.js"
import {
  checkModelled,
  contextOf,
  framesOf,
  givenNeeds,
  givenOf,
  looksAt,
  OUTCOMES,
  type Outcome,
  type Problem,
  problemsOf,
  type Side,
  type Stages,
  sideOf,
  stagesOf,
} from "./problems.js"
import { canonical, type Fields, fields, Invalid, list, pairs, text, texts } from "./read.js"
import { checkRefuted, isCertain, narrowed } from "./refute.js"
import { type Frame, hasToken, type Region, regionOf } from "./rules.js"
import { isSeveral, isText, NO_KEY, type Subject, type Value } from "./values.js"

export const FORMAT = "merlon.dev/certificate/1"

/**
 * What it proves, a line for each answer. `sets`: the policies of each side, which are all that there are. Throws `Invalid`
 * where it is not valid.
 */
export function checkCertificate(written: string, sets: readonly (readonly Policy[])[]): readonly string[] {
  try {
    return checkAnswers(written, sets)
  } catch (error) {
    // Whatever goes wrong with what is written, nothing was shown to be valid.
    throw error instanceof Invalid ? error : new Invalid(error instanceof Error ? error.message : String(error))
  }
}

function checkAnswers(written: string, sets: readonly (readonly Policy[])[]): readonly string[] {
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
  if (lists.length !== sets.length) throw new Invalid(`the certificate is about ${lists.length} sets of policies`)
  for (const [at, set] of sets.entries()) checkDigests(pairs(lists[at], "policies"), set)
  const all = list(answers, "answers")
  if (all.length === 0) throw new Invalid("there is no answer")
  return all.map((answer, at) => {
    try {
      return new Answer(answer, sets, meshOf(mesh)).check()
    } catch (error) {
      throw error instanceof Invalid ? new Invalid(`answer ${at}: ${error.message}`) : error
    }
  })
}

function checkDigests(said: readonly (readonly [string, string])[], set: readonly Policy[]): void {
  const names = new Map(set.map(({ kind, namespace, name, digest }) => [`${kind} ${namespace}/${name}`, digest]))
  if (names.size < set.length) throw new Invalid("two policies have the same name")
  for (const [name, digest] of said) {
    if (names.get(name) !== digest)
      throw new Invalid(`${name} is ${names.has(name) ? "not the one that was proved" : "not there"}`)
    names.delete(name)
  }
  for (const name of names.keys()) throw new Invalid(`${name} was not there when it was proved`)
}

function meshOf(value: unknown): Mesh {
  const names = ["aliases", "dryRun", "paths", "proxies", "rootNamespace", "trustDomain"]
  const read = fields(value, "mesh", names)
  const paths = text(read.paths, "mesh.paths")
  if (!["NONE", "BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES"].includes(paths))
    throw new Invalid("mesh.paths is not known")
  const of = (name: string) => text(read[name], `mesh.${name}`)
  // Another annotation would make a policy with it one in shadow mode.
  if (!/^[a-z0-9.-]+\/dry-run$/.test(of("dryRun"))) throw new Invalid("mesh.dryRun is no name of that annotation")
  const proxies = Number(read.proxies)
  const aliases = texts(read.aliases, "mesh.aliases")
  return {
    aliases,
    dryRun: of("dryRun"),
    paths,
    proxies,
    rootNamespace: of("rootNamespace"),
    trustDomain: of("trustDomain"),
  }
}

function workloadOf(value: unknown): Workload {
  const read = fields(value, "workload", ["labels", "name", "namespace", "ports", "services"])
  return {
    name: text(read.name, "name"),
    namespace: text(read.namespace, "namespace"),
    labels: new Map(pairs(read.labels, "labels")),
    services: texts(read.services, "services"),
    ports: list(read.ports, "ports").map(port => String(Number(port))),
  }
}

interface Round {
  readonly frame: Frame
  readonly stages: readonly Stages[]
  readonly context: ReturnType<typeof contextOf>
}

class Answer {
  readonly #answer: Fields
  readonly #proofs: Map<string, unknown>
  readonly #mesh: Mesh
  readonly #workload: Workload
  readonly #sides: readonly Side[]
  readonly #names: readonly string[]

  constructor(
    answer: unknown,
    readonly sets: readonly (readonly Policy[])[],
    mesh: Mesh,
  ) {
    const known = ["broken", "changes", "holds", "invariant", "kind", "proofs", "rule", "workloads"]
    this.#answer = fields(answer, "answer", known)
    this.#mesh = mesh
    const workloads = list(this.#answer.workloads, "workloads").map(workloadOf)
    this.#names = workloads.map(({ namespace, name }) => `${namespace}/${name}`)
    const sidesOf = (workload: Workload) => sets.map(set => sideOf(set, workload, mesh))
    const [first] = workloads
    if (first === undefined) throw new Invalid("it is about no workload")
    this.#workload = first
    this.#sides = sidesOf(first)
    const keyOf = (of: Workload) =>
      JSON.stringify([
        [...of.ports].sort(),
        sidesOf(of).map(({ policies, modes }) => [policies.map(({ digest }) => digest), [...modes]]),
      ])
    if (workloads.some(one => keyOf(one) !== keyOf(first)))
      throw new Invalid("not every workload has the same policies")
    const proofs = this.#answer.proofs
    this.#proofs = new Map(Object.entries(fields(proofs, "proofs", Object.keys(proofs ?? {}))))
  }

  /** What it says, in words. */
  check(): string {
    const { kind } = this.#answer
    if (kind !== "compare" && kind !== "invariant") throw new Invalid("it is of a kind that is not known")
    const said = kind === "compare" ? this.#compare() : this.#invariant()
    for (const unused of this.#proofs.keys()) throw new Invalid(`the proof \`${unused}\` is of nothing that is claimed`)
    return `${this.#names.join(", ")}: ${said}`
  }

  #only(...names: readonly string[]): void {
    for (const [name, value] of Object.entries(this.#answer))
      if (value !== undefined && !["kind", "proofs", "workloads", ...names].includes(name))
        throw new Invalid(`\`${name}\` is of another kind`)
  }

  #round(frame: Frame): Round {
    const contexts = this.#sides.map(side => contextOf(side, frame, this.#mesh))
    const stages = this.#sides.map((side, at) => stagesOf(side, at, contexts[at] as Round["context"])) // one for each side
    return { frame, stages, context: contexts[0] as Round["context"] }
  }

  #refuted(name: string, problem: Problem, { stages }: Round): void {
    const all = [
      ...stages.flatMap(one => [one.transport, one.missing, one.good ?? [], one.deny, one.allow]),
      ...problem.needs,
    ]
    const regions = new Map(all.flat().map(region => [region.label, region]))
    try {
      checkRefuted(problem, this.#proofs.get(name), givenOf(this.#sides, this.#workload, this.#mesh), regions)
    } catch (error) {
      throw error instanceof Invalid ? new Invalid(`${name}: ${error.message}`) : error
    }
    this.#proofs.delete(name)
  }

  /** Each change is real, and no request changes in a direction that no change has. */
  #compare(): string {
    this.#only("changes")
    if (this.#sides.length !== 2) throw new Invalid("a comparison is of two sets")
    const [old, young] = this.#sides.map(({ policies }) => policies.map(({ digest }) => digest).join())
    if (old === young) {
      if (list(this.#answer.changes, "changes").length > 0) throw new Invalid("equal policies have no change")
      return "the same policies on both sides"
    }
    checkModelled(this.#sides, [], this.#mesh, true)
    const found = new Set<string>()
    for (const change of list(this.#answer.changes, "changes")) {
      const { from, request, to } = fields(change, "change", ["from", "request", "to"])
      if (from === to) throw new Invalid("a change is none")
      for (const [at, outcome] of [from, to].entries()) this.#replay(request, at, outcome)
      found.add(`${String(from)} ${String(to)}`)
    }
    for (const frame of framesOf(this.#sides)) {
      const round = this.#round(frame)
      const [before, after] = round.stages as [Stages, Stages] // two sides
      for (const from of OUTCOMES) {
        for (const to of OUTCOMES) {
          if (from === to || found.has(`${from} ${to}`)) continue
          for (const [i, old] of problemsOf(before, from).entries())
            for (const [j, young] of problemsOf(after, to).entries())
              this.#refuted(
                `${nameOf(frame)} ${from} ${i} ${to} ${j}`,
                joined({ needs: givenNeeds(frame), bans: [] }, old, young),
                round,
              )
        }
      }
    }
    const directions = [...found].map(one => `some requests change from ${one.replace(" ", " to ")}`)
    return [...directions, found.size > 0 ? "no request changes otherwise" : "no request is decided differently"].join(
      ", ",
    )
  }

  #invariant(): string {
    const broken = this.#answer.broken
    this.#only("broken", "holds", "invariant", "rule")
    if (this.#sides.length !== 1) throw new Invalid("an invariant is about one set")
    const { holds: how } = this.#answer
    if (how !== "never" && how !== "always") throw new Invalid("`holds` is neither `never` nor `always`")
    const invariant = this.sets[0]?.find(
      one => one.kind === "PolicyInvariant" && `${one.namespace}/${one.name}` === this.#answer.invariant,
    )
    const all = list(invariant?.spec[how] ?? [], "invariant").map(one => ({ ...(one as Fields) })) // each has its name
    const stated = all.find(one => one.name === this.#answer.rule)
    if (invariant === undefined || stated === undefined) throw new Invalid("there is no such invariant")
    if (scopeOf(invariant, this.#workload, this.#mesh) === undefined)
      throw new Invalid("the invariant is not about the workload")
    const { name: _, ...rule } = stated
    checkModelled(this.#sides, [rule], this.#mesh, broken === undefined)
    const regionIn = ({ context }: Round) => regionOf(rule, invariant, "question", "ALLOW", context)
    const named = `${how} \`${String(stated.name)}\` of ${invariant.namespace}/${invariant.name}`
    const wrong: readonly Outcome[] = how === "never" ? ["allow"] : ["deny", "unauthenticated", "transport"]
    if (broken !== undefined) {
      const { outcome, request } = fields(broken, "broken", ["outcome", "request"])
      if (!wrong.some(one => one === outcome)) throw new Invalid("such a request does not break it")
      this.#replay(request, 0, outcome, round => {
        const good = how === "always" && hasToken(round.frame) ? [round.stages[0]?.good ?? []] : []
        return [[regionIn(round)].flatMap(one => one ?? []), ...good]
      })
      return `${named} is broken`
    }
    for (const frame of framesOf(this.#sides)) {
      const round = this.#round(frame)
      const stages = round.stages[0] as Stages // one side
      const asked = regionIn(round)
      const good = how === "always" && stages.good !== undefined ? [stages.good] : []
      for (const outcome of asked === undefined ? [] : wrong)
        for (const [i, problem] of problemsOf(stages, outcome).entries())
          this.#refuted(
            `${nameOf(frame)} ${outcome} ${i}`,
            joined({ needs: [...givenNeeds(frame), [asked as Region], ...good], bans: [] }, problem),
            round,
          )
    }
    return `${named} holds`
  }

  /** Judges the request by the policies of one side. */
  #replay(request: unknown, at: number, outcome: unknown, needed: (round: Round) => Problem["needs"] = () => []): void {
    const { frame, assigned } = requestOf(request, this.#sides, givenOf(this.#sides, this.#workload, this.#mesh))
    const round = this.#round(frame)
    const lies = (region: Region) => isCertain(region, assigned(region))
    const cannot = (region: Region) =>
      narrowed(region, part =>
        part.conditions.every(one =>
          isCertain({ label: "", key: "", groups: [[{ conditions: [one], opaque: "" }]] }, assigned(region)),
        ),
      ) === undefined
    const problems = problemsOf(round.stages[at] as Stages, outcome as Outcome)
    const isSolved = problems.some(({ needs, bans }) => needs.every(need => need.some(lies)) && bans.every(cannot))
    if (!isSolved || !needed(round).every(need => need.some(lies)))
      throw new Invalid(`the request does not come to \`${String(outcome)}\``)
  }
}

const joined = (...all: readonly Problem[]): Problem => ({
  needs: all.flatMap(one => one.needs),
  bans: all.flatMap(one => one.bans),
})
const nameOf = ({ identity, http, token }: Frame): string =>
  `${http ? "http" : "tcp"} ${identity ? "mtls" : "plaintext"} ${token}`

const OF_REQUEST = [
  "destinationIp",
  "headers",
  "host",
  "method",
  "path",
  "port",
  "principal",
  "protocol",
  "remoteIp",
  "scheme",
  "sni",
  "sourceIp",
  "token",
]

/** The kind of a request, and its value for every attribute that conditions of a region are about. */
function requestOf(value: unknown, sides: readonly Side[], given: ReturnType<typeof givenOf>) {
  const read = fields(value, "request", OF_REQUEST)
  const { protocol, principal, token } = read
  const http = protocol === "http"
  if (!http && protocol !== "tcp") throw new Invalid("the request has no protocol that is known")
  const lines = new Map(Object.entries((read.headers ?? {}) as Fields).map(([name, some]) => [name, texts(some, name)]))
  for (const [name, some] of lines) if (some.length === 0) throw new Invalid(`the header \`${name}\` has no line`)
  const of = token === undefined ? undefined : fields(token, "token", ["claims", "expires", "key", "place"])
  const looks = sides.some(({ tokens }) => tokens.length > 0)
  const preflight =
    looks && read.method === "OPTIONS" && lines.has("origin") && lines.has("access-control-request-method")
  if (preflight && of !== undefined) throw new Invalid("a preflight with a token is not modelled")
  // Any other place would be a kind of requests that have no token.
  if (of !== undefined && !(http && sides.some(({ tokens }) => tokens.some(rule => looksAt(rule, String(of.place))))))
    throw new Invalid("no rule looks for a token at its place")
  const frame = {
    identity: principal !== undefined,
    http,
    token: of === undefined ? (preflight ? "preflight" : "none") : text(of.place, "place"),
  }
  const claims = (of?.claims ?? {}) as Fields
  const one = (name: string) => (read[name] === undefined ? null : text(read[name], name))
  const values: { readonly [attribute: string]: Value } = {
    method: one("method"),
    scheme: one("scheme"),
    host: (one("host") ?? "").replace(/^([^:]+)\.(:\d*)?$/, "$1$2") || null,
    path: one("path"),
    sni: one("sni"),
    peer: one("principal"),
    port: String(Number(read.port)),
    "source ip": one("sourceIp"),
    "remote ip": one("remoteIp") ?? one("sourceIp"),
    "destination ip": one("destinationIp"),
    "token key": of?.key === undefined ? NO_KEY : text(of.key, "key"),
    expiry: of?.expires === true ? "set" : "none",
    subject: { issuer: claimText(claims.iss), subject: claimText(claims.sub) } satisfies Subject,
  }
  for (const attribute of ["path", "peer", "method", "scheme"]) {
    const said = values[attribute]
    if (typeof said === "string" && !isText(attribute, said, given))
      throw new Invalid(`the request has no \`${attribute}\` that there can be`)
  }
  const all = ["source ip", "destination ip", ...(http ? ["path", "method", "scheme"] : [])]
  if (all.some(attribute => values[attribute] === null)) throw new Invalid("the request is not complete")
  if (!(Number(read.port) >= 1 && Number(read.port) <= 65_535)) throw new Invalid("the request has no port")
  if (given.ports.length > 0 && !given.ports.includes(String(read.port)))
    throw new Invalid("the workload has no such port")
  const valueFor = (attribute: string): Value => {
    if (Object.hasOwn(values, attribute)) return values[attribute] ?? null
    if (attribute.startsWith("header ")) return lines.get(attribute.slice("header ".length)) ?? []
    const path: unknown = JSON.parse(attribute.slice("claim ".length))
    let claim: unknown = claims
    for (const name of texts(path, attribute))
      claim =
        typeof claim === "object" && claim !== null && !Array.isArray(claim) && Object.hasOwn(claim, name)
          ? (claim as Fields)[name]
          : undefined
    const all = typeof claim === "string" ? [claim] : Array.isArray(claim) ? texts(claim, attribute) : []
    if (typeof claim === "string" && claim.includes(" "))
      throw new Invalid("a claim that may be split at blanks is not modelled")
    return isSeveral(attribute) ? all : (all[0] ?? null)
  }
  const assigned = ({ groups }: Region) =>
    new Map(
      groups.flat().flatMap(part => part.conditions.map(({ attribute }) => [attribute, valueFor(attribute)] as const)),
    )
  return { frame, assigned }
}

const claimText = (claim: unknown): string | null => (typeof claim === "string" ? claim : null)
