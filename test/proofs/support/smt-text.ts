// SPDX-License-Identifier: Apache-2.0
// Translates two policy sets to an SMT-LIB question: is there a request that they decide differently? Written directly
// from docs/semantics.md for a small vocabulary, without any of the prover's code.

import type { Operation, Rule, Source } from "../../../packages/policy/src/resources/authorization-policy/definition.js"

export type Mode = "STRICT" | "PERMISSIVE" | "DISABLE"

export interface SmallSet {
  readonly allow: readonly Rule[]
  readonly deny: readonly Rule[]
  /** Requests for which a provider is asked. */
  readonly custom: readonly Rule[]
  /** The mTLS mode of all ports, and of single ports. */
  readonly mode: Mode
  readonly portModes: { readonly [port: number]: Mode }
  /** Requests without a token are rejected. */
  readonly tokenRequired: boolean
}

/** More elements of a claim, and values of a header, than conditions can distinguish. */
const ELEMENTS = ["g0", "g1", "g2", "g3"]
const LINES = ["x0", "x1", "x2", "x3"]

const quote = (text: string): string => `"${text}"`
const all = (terms: readonly string[]): string => (terms.length === 0 ? "true" : `(and true ${terms.join(" ")})`)
const any = (terms: readonly string[]): string => (terms.length === 0 ? "false" : `(or false ${terms.join(" ")})`)
const not = (term: string): string => `(not ${term})`

const SEGMENT = '(re.+ (re.diff re.allchar (str.to_re "/")))'
const LABEL = '(re.++ (re.range "a" "z") (re.* (re.union (re.range "a" "z") (re.range "0" "9"))))'

const DOMAIN = `
(set-logic ALL)
(declare-const http Bool) (declare-const peer Bool) (declare-const token Bool)
(declare-const principal Bool) (declare-const port Int)
(declare-const td String) (declare-const ns String) (declare-const sa String)
(declare-const method String) (declare-const path String)
(declare-const iss String) (declare-const sub String)
(declare-const host String) (declare-const has-host Bool)
(declare-const v6 Bool) (declare-const ip4 (_ BitVec 32)) (declare-const ip6 (_ BitVec 128))
${[...ELEMENTS, ...LINES].map(name => `(declare-const ${name} String) (declare-const has-${name} Bool)`).join("\n")}
(assert (and (>= port 1) (<= port 65535)))
(assert (=> token http))
(assert (=> principal token))
(assert (str.in_re td (re.++ ${LABEL} (re.* (re.++ (str.to_re ".") ${LABEL})))))
(assert (str.in_re ns ${LABEL}))
(assert (str.in_re sa ${LABEL}))
(assert (str.in_re method (re.+ (re.range "A" "Z"))))
; A canonical path: absolute, without empty segments and without dots, of plain characters.
(assert (str.in_re path (re.++ (str.to_re "/") (re.* (re.union (re.range "a" "z") (str.to_re "/"))))))
(assert (not (str.contains path "//")))
(assert (str.in_re iss (re.+ (re.range "a" "z"))))
(assert (str.in_re sub (re.+ (re.range "a" "z"))))
${ELEMENTS.map(name => `(assert (=> has-${name} token))`).join("\n")}
; Of one case and without a final dot, which the semantics ignore.
(assert (str.in_re host (re.++ (re.opt (re.++ ${LABEL} (re.* (re.++ (str.to_re ".") ${LABEL})))) (re.opt (str.to_re ":80")))))
(assert (=> has-host http))
${LINES.map(name => `(assert (=> has-${name} http)) (assert (str.in_re ${name} (re.* (re.union (re.range "a" "z") (re.range "0" "9")))))`).join("\n")}
; An address of IPv4 is not written as one of IPv6.
(assert (not (= ((_ extract 127 32) ip6) (_ bv65535 96))))
(define-fun spiffe () String (str.++ td "/ns/" ns "/sa/" sa))
`

/** The question is `sat` if some request is decided differently. */
export function questionOf(one: SmallSet, other: SmallSet): string {
  return `${DOMAIN}(assert (not (= ${outcomeOf(one)} ${outcomeOf(other)})))`
}

/**
 * 0: allowed, 1: denied, 2: rejected without a token, 3: closed by the mTLS mode, 4: allowed if the provider allows it.
 */
function outcomeOf({ allow, deny, custom, tokenRequired, mode, portModes }: SmallSet): string {
  const denied = any(deny.map(rule => matches(rule, true)))
  const allowed = allow.length === 0 ? "true" : any(allow.map(rule => matches(rule, false)))
  const asked = any(custom.map(rule => matches(rule, true)))
  // Providers are only asked about requests: a connection that matches such a rule is denied.
  const verdict = `(ite (or ${denied} (and ${asked} (not http))) 1 (ite ${allowed} (ite ${asked} 4 0) 1))`
  const authenticated = tokenRequired ? `(ite (and http (not token)) 2 ${verdict})` : verdict
  const closed = Object.entries(portModes).reduce(
    (rest, [port, of]) => `(ite (= port ${port}) ${closes(of)} ${rest})`,
    closes(mode),
  )
  return `(ite ${closed} 3 ${authenticated})`
}

const closes = (mode: Mode): string => (mode === "STRICT" ? "(not peer)" : mode === "DISABLE" ? "peer" : "false")

/** `onTcp` is the value of HTTP fields if there is no request. */
function matches({ from = [], to = [], when = [] }: Rule, onTcp: boolean): string {
  const ofHttp = (term: string): string => `(ite http ${term} ${onTcp})`
  const parts: string[] = []
  if (from.length > 0) parts.push(any(from.map(({ source }) => sourceOf(source ?? {}, ofHttp))))
  if (to.length > 0) parts.push(any(to.map(({ operation }) => operationOf(operation ?? {}, ofHttp))))
  for (const { key, values, notValues } of when) {
    const one = key.startsWith("request.headers") ? line : claim
    parts.push(...fieldOf([values, notValues, one]).map(ofHttp))
  }
  return all(parts)
}

type Field = readonly [values: readonly string[] | undefined, notValues: readonly string[] | undefined, one: Match]
type Match = (value: string) => string

function sourceOf(source: Source, ofHttp: Match): string {
  return all([
    ...fieldOf([source.principals, source.notPrincipals, value => `(and peer ${text("spiffe", value)})`]),
    ...fieldOf([source.namespaces, source.notNamespaces, value => `(and peer ${text("ns", value)})`]),
    ...fieldOf([source.ipBlocks, source.notIpBlocks, address]),
    // No proxy is trusted, so the client is the peer.
    ...fieldOf([source.remoteIpBlocks, source.notRemoteIpBlocks, address]),
    ...fieldOf([source.requestPrincipals, source.notRequestPrincipals, requestPrincipal]).map(ofHttp),
  ])
}

function operationOf(operation: Operation, ofHttp: Match): string {
  return all([
    ...fieldOf([operation.ports, operation.notPorts, value => `(= port ${value})`]),
    ...fieldOf([operation.methods, operation.notMethods, value => text("method", value)]).map(ofHttp),
    ...fieldOf([operation.hosts, operation.notHosts, hostOf]).map(ofHttp),
    ...fieldOf([operation.paths, operation.notPaths, pathOf]).map(ofHttp),
  ])
}

function fieldOf([values, notValues, one]: Field): readonly string[] {
  return [
    ...(values === undefined ? [] : [anyValue(values, one)]),
    ...(notValues === undefined ? [] : [not(anyValue(notValues, one))]),
  ]
}

const anyValue = (values: readonly string[], one: Match): string => any(values.map(one))

function text(variable: string, value: string): string {
  if (value === "*") return `(not (= ${variable} ""))`
  if (value.endsWith("*")) return `(str.prefixof ${quote(value.slice(0, -1))} ${variable})`
  if (value.startsWith("*")) return `(str.suffixof ${quote(value.slice(1))} ${variable})`
  return `(= ${variable} ${quote(value)})`
}

function pathOf(value: string): string {
  if (!value.includes("{")) return text("path", value)
  const parts = value.split(/(\{\*\}|\{\*\*\})/).filter(part => part !== "")
  const regex = (part: string): string =>
    part === "{*}" ? SEGMENT : part === "{**}" ? "re.all" : `(str.to_re ${quote(part)})`
  const [first = "", ...rest] = parts.map(regex)
  return `(str.in_re path ${rest.length === 0 ? first : `(re.++ ${first} ${rest.join(" ")})`})`
}

function requestPrincipal(value: string): string {
  if (value === "*") return "principal"
  const at = value.indexOf("/")
  const [issuer, subject] = [value.slice(0, at), value.slice(at + 1)]
  return `(and principal ${text("iss", issuer)} ${text("sub", subject)})`
}

const claim: Match = value => any(ELEMENTS.map(name => `(and has-${name} ${text(name, value)})`))

/** An empty header value is present, and `*` matches it. */
const line: Match = value => any(LINES.map(name => `(and has-${name} ${value === "*" ? "true" : text(name, value)})`))

const hostOf: Match = value =>
  value === "*" ? "has-host" : `(and has-host ${text("host", value.toLowerCase().replace(/\.$/, ""))})`

/** Matches an address or a CIDR block. */
function address(value: string): string {
  const [base = "", length] = value.split("/")
  const isSix = base.includes(":")
  const width = isSix ? 128 : 32
  const bits = length === undefined ? width : Number(length)
  const family = isSix ? "v6" : "(not v6)"
  if (bits === 0) return family
  const top = (isSix ? sixOf(base) : fourOf(base)) >> BigInt(width - bits)
  return `(and ${family} (= ((_ extract ${width - 1} ${width - bits}) ip${isSix ? 6 : 4}) (_ bv${top} ${bits})))`
}

const fourOf = (text: string): bigint => text.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n)

function sixOf(text: string): bigint {
  const [head = "", tail = ""] = text.split("::")
  const groups = (part: string): readonly string[] => part.split(":").filter(group => group !== "")
  const zeros = Array<string>(8 - groups(head).length - groups(tail).length).fill("0")
  return [...groups(head), ...zeros, ...groups(tail)].reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n)
}
