// SPDX-License-Identifier: Apache-2.0
// Two policy sets as an SMT-LIB question: is there a request that they decide differently? Written naively from
// docs/semantics.md for a small vocabulary, and without any of the prover's own code.

import type { Operation, Rule, Source } from "../../../packages/policy/src/resources/authorization-policy/definition.js"

export interface SmallSet {
  readonly allow: readonly Rule[]
  readonly deny: readonly Rule[]
  /** A request without a token is rejected. */
  readonly tokenRequired: boolean
}

/** More elements of a claim than conditions can tell apart. */
const ELEMENTS = ["g0", "g1", "g2", "g3"]

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
${ELEMENTS.map(name => `(declare-const ${name} String) (declare-const has-${name} Bool)`).join("\n")}
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
(define-fun spiffe () String (str.++ td "/ns/" ns "/sa/" sa))
`

/** `sat` if some request is decided differently. */
export function questionOf(one: SmallSet, other: SmallSet): string {
  return `${DOMAIN}(assert (not (= ${outcomeOf(one)} ${outcomeOf(other)})))`
}

function outcomeOf({ allow, deny, tokenRequired }: SmallSet): string {
  const denied = any(deny.map(rule => matches(rule, true)))
  const allowed = allow.length === 0 ? "true" : any(allow.map(rule => matches(rule, false)))
  const verdict = `(ite ${denied} 1 (ite ${allowed} 0 1))`
  return tokenRequired ? `(ite (and http (not token)) 2 ${verdict})` : verdict
}

/** `onTcp`: what a field of HTTP counts as where there is no request. */
function matches({ from = [], to = [], when = [] }: Rule, onTcp: boolean): string {
  const ofHttp = (term: string): string => `(ite http ${term} ${onTcp})`
  const parts: string[] = []
  if (from.length > 0) parts.push(any(from.map(({ source }) => sourceOf(source ?? {}, ofHttp))))
  if (to.length > 0) parts.push(any(to.map(({ operation }) => operationOf(operation ?? {}, ofHttp))))
  for (const { values, notValues } of when) {
    if (values !== undefined) parts.push(ofHttp(anyValue(values, claim)))
    if (notValues !== undefined) parts.push(ofHttp(not(anyValue(notValues, claim))))
  }
  return all(parts)
}

type Field = readonly [values: readonly string[] | undefined, notValues: readonly string[] | undefined, one: Match]
type Match = (value: string) => string

function sourceOf(source: Source, ofHttp: Match): string {
  return all([
    ...fieldOf([source.principals, source.notPrincipals, value => `(and peer ${text("spiffe", value)})`]),
    ...fieldOf([source.namespaces, source.notNamespaces, value => `(and peer ${text("ns", value)})`]),
    ...fieldOf([source.requestPrincipals, source.notRequestPrincipals, requestPrincipal]).map(ofHttp),
  ])
}

function operationOf(operation: Operation, ofHttp: Match): string {
  return all([
    ...fieldOf([operation.ports, operation.notPorts, value => `(= port ${value})`]),
    ...fieldOf([operation.methods, operation.notMethods, value => text("method", value)]).map(ofHttp),
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
