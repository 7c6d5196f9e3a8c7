// SPDX-License-Identifier: Apache-2.0
// Converts a field of a compiled rule into a condition of the search. If the frame decides it (a claim where there is no
// token), the result is a plain yes or no. If it depends on something that the search does not model, it is `opaque`.

import type { Comparison } from "../authorization/comparison.js"
import type { Criterion } from "../authorization/criterion.js"
import { type Pattern, type PatternSyntax, parsePattern } from "../authorization/pattern.js"
import { type Issuers, readPrincipal } from "../authorization/request-principal.js"
import { hostPatternWithoutDot } from "../request/host.js"
import { parseCidr } from "../request/ip.js"
import { parseConditionKey } from "../resources/authorization-policy/condition-key.js"
import type { Budget } from "./budget.js"
import type { Dimension } from "./classes/dimension.js"
import type { Mark, SubjectMark, TextMark } from "./classes/mark.js"
import { literal, REST, type Reading, SEGMENT_REST, type Step, stepsOf } from "./classes/steps.js"
import { type Frame, hasToken } from "./frame.js"
import type { Condition } from "./search/formula.js"
import type { SeenHeaders } from "./seen-headers.js"
import type { Space } from "./space.js"
import type { TokenSpace } from "./token-space.js"

export interface ReadingContext {
  readonly frame: Frame
  readonly space: Space
  /** The issuers that the side's token rules name: they determine how a request principal is read. */
  readonly issuers: Issuers
  /** What the side's rules see of a header. */
  readonly headers: SeenHeaders
  /** Headers whose received value follows from something else in the request, lower case. */
  readonly derivedHeaders: ReadonlySet<string>
  /** The token whose claims the side's rules see. */
  readonly token: TokenSpace
  /** Every location with a token; undefined if others may have one too. */
  readonly tokensAt: readonly string[] | undefined
  /** Headers that tokens change in a way that is not modelled. */
  readonly openHeaders: ReadonlySet<string>
  /** Claims that token rules read differently from the same token. */
  readonly unsteadyClaims: ReadonlySet<string>
  /** INVARIANT: contexts of one space with equal `view` see headers and unsteady claims alike. */
  readonly view: string
  /** The work budget of the question for which rules are read. */
  readonly budget?: Budget | undefined
}

/**
 * A condition that the search does not model. INVARIANT: equal criteria with equal `opaque` match the same requests.
 */
export interface Opaque {
  readonly opaque: string
}

export type Read = Condition | boolean | Opaque

export const isOpaque = (read: Read): read is Opaque => typeof read === "object" && "opaque" in read

/** Both sides of a comparison see the same value. */
const SHARED: Opaque = { opaque: "" }

/** Claims with a type of their own: their value depends on more than the text. */
const TIMES: ReadonlySet<string> = new Set(["exp", "nbf", "iat"])
/** Claims that are a text or a list of texts in every token, so that they have no members. */
const FLAT: ReadonlySet<string> = new Set(["iss", "sub", "aud", "jti", ...TIMES])

export function readCriterion({ attribute, negated, values }: Criterion, context: ReadingContext): Read {
  const { frame, space } = context
  const absent: Read = negated
  const on = (dimension: Dimension, mark: (value: string) => Mark): Condition => ({
    dimension,
    negated,
    marks: values.map(value => space.mark(attribute.name, value, mark)),
  })
  switch (attribute.name) {
    case "source.principal":
      return frame.identity ? on(space.peer, value => textMark(value, "wildcard")) : absent
    case "source.namespace":
      return frame.identity ? on(space.peer, value => namespaceMark(value, space.comparison)) : absent
    case "source.trustDomain":
      return frame.identity ? on(space.peer, trustDomainMark) : absent
    case "source.serviceAccount":
      return frame.identity ? on(space.peer, serviceAccountMark) : absent
    case "source.ip":
      return on(space.sourceIp, blockMark)
    case "remote.ip":
      return on(space.remoteIp(frame.protocol), blockMark)
    case "destination.ip":
      return on(space.destinationIp, blockMark)
    case "destination.port":
      return on(space.port, value => ({ kind: "choice", key: value }))
    case "connection.sni":
      // Only TLS has a server name; on TCP that includes TLS that is forwarded without being terminated.
      if (!frame.identity && frame.protocol === "http") return absent
      return on(space.sni, value => textMark(value, "wildcard"))
    case "host":
      return on(space.host, value => hostMark(value, true, space.comparison))
    case "method":
      return on(space.method, headerMark)
    case "path":
      return on(space.path, value => textMark(value, space.comparison.pathSyntax))
    case "request.auth.principal":
      if (!hasToken(frame)) return absent
      return {
        dimension: context.token.subject,
        negated,
        marks: values.map(value => principalMark(value, context.issuers)),
      }
    default:
      return readKeyed(attribute.name, on, absent, values.includes("*"), context)
  }
}

function readKeyed(
  name: string,
  on: (dimension: Dimension, mark: (value: string) => Mark) => Condition,
  absent: boolean,
  takesAny: boolean,
  context: ReadingContext,
): Read {
  const { frame, space, token, unsteadyClaims } = context
  const path = claimPath(name)
  if (path !== undefined) {
    if (!hasToken(frame)) return absent
    const [first = "", second] = path
    if (second !== undefined && FLAT.has(first)) return absent
    if (TIMES.has(first)) return { opaque: token.name }
    if (unsteadyClaims.has(first)) return { opaque: context.view }
    if (first === "iss") return on(token.subject, value => subjectMark(claimMark(value), undefined))
    if (first === "sub") return on(token.subject, value => subjectMark(undefined, claimMark(value)))
    return on(token.claim(path), claimMark)
  }
  const parsed = parseConditionKey(name)
  if ("problem" in parsed || parsed.attribute !== "request.headers") return SHARED
  switch (parsed.name) {
    case ":authority":
    case "host":
      return on(space.host, value => hostMark(value, false, space.comparison))
    case ":method":
      return on(space.method, headerMark)
    case ":scheme":
      return on(space.scheme, headerMark)
    case ":path":
      // The value is path and query together, and the query is not a dimension.
      return { opaque: context.openHeaders.has(":path") ? context.view : context.headers.treatment(":path") }
    default:
      return readHeader(parsed.name, on, absent, takesAny, context)
  }
}

function readHeader(
  name: string,
  on: (dimension: Dimension, mark: (value: string) => Mark) => Condition,
  absent: boolean,
  takesAny: boolean,
  { frame, space, headers, derivedHeaders, openHeaders, tokensAt, view }: ReadingContext,
): Read {
  if (openHeaders.has(name)) return { opaque: view }
  const seen = headers.seen(name, frame, tokensAt)
  switch (seen.kind) {
    case "absent":
      return absent
    case "unknown":
      return { opaque: headers.treatment(name) }
    case "payload":
      return takesAny ? !absent : { opaque: headers.treatment(name) }
    case "written":
      return on(space.written(name, seen.path), headerMark)
    case "received":
      // The proxy sets these headers itself.
      if (name === "x-forwarded-proto") return space.dialect === "istio" ? SHARED : on(space.scheme, headerMark)
      if (name === "x-forwarded-client-cert") return !frame.identity ? absent : takesAny ? !absent : SHARED
      return derivedHeaders.has(name) ? { opaque: "received" } : on(space.header(name), headerMark)
  }
}

function claimPath(name: string): readonly string[] | undefined {
  if (name === "request.auth.audiences") return ["aud"]
  if (name === "request.auth.presenter") return ["azp"]
  const parsed = parseConditionKey(name)
  return !("problem" in parsed) && parsed.attribute === "request.auth.claims" ? parsed.path : undefined
}

export function textMark(value: string, syntax: PatternSyntax, reading: Reading = {}): TextMark {
  return patternMark(parsePattern(reading.ignoreCase ? value.toLowerCase() : value, syntax), reading)
}

function patternMark(pattern: Pattern, reading: Reading = {}): TextMark {
  const { emptyIsPresent = false, ignoreCase = false } = reading
  return {
    kind: "text",
    key: JSON.stringify([pattern, emptyIsPresent, ignoreCase]),
    steps: () => stepsOf(pattern, reading),
    // Two patterns that differ in case can overlap if one of them ignores case.
    pattern: ignoreCase ? undefined : pattern,
  }
}

export const exactMark = (text: string): TextMark => patternMark({ kind: "exact", text })

const claimMark = (value: string): TextMark => textMark(value, "wildcard")

const headerMark = (value: string): TextMark => textMark(value, "wildcard", { emptyIsPresent: true })

function hostMark(value: string, ignoreCase: boolean, { ignoresTrailingDot }: Comparison): TextMark {
  const compared = ignoresTrailingDot ? hostPatternWithoutDot(value) : value
  return textMark(compared, "wildcard", { emptyIsPresent: true, ignoreCase })
}

function blockMark(value: string): Mark {
  const block = parseCidr(value)
  // Compilation has already rejected invalid blocks.
  if (block === undefined) throw new RangeError(`invalid address or block \`${value}\``)
  return { kind: "block", key: JSON.stringify([block.address.family, block.address.words, block.bits]), block }
}

const IN_SEGMENT: Step = { ...SEGMENT_REST, many: false }
const ANY_SEGMENT: readonly Step[] = [IN_SEGMENT, SEGMENT_REST]

/** A condition on a part of the identity, as a condition on the whole identity. */
function identityMark(what: string, value: string, steps: () => readonly Step[]): TextMark {
  return { kind: "text", key: JSON.stringify([what, value]), steps, pattern: undefined }
}

function namespaceMark(value: string, { namespaceReachesAccount }: Comparison): TextMark {
  const name = (star: Step) => stepsOf(parsePattern(value, "stars"), { star })
  const steps = () =>
    namespaceReachesAccount
      ? [REST, ...literal("/ns/"), ...name(REST), ...literal("/"), REST]
      : [...ANY_SEGMENT, ...literal("/ns/"), ...name(SEGMENT_REST), ...literal("/sa/"), REST]
  return identityMark("namespace", value, steps)
}

function trustDomainMark(value: string): TextMark {
  const domain = () => stepsOf(parsePattern(value, "wildcard"), { star: SEGMENT_REST })
  return identityMark("trust domain", value, () => [...domain(), ...literal("/ns/"), REST])
}

function serviceAccountMark(value: string): TextMark {
  const slash = value.indexOf("/")
  const account = `/ns/${value.slice(0, slash)}/sa/${value.slice(slash + 1)}`
  return identityMark("service account", value, () => [...ANY_SEGMENT, ...literal(account)])
}

export function subjectMark(issuer: TextMark | undefined, subject: TextMark | undefined): SubjectMark {
  return { kind: "subject", key: JSON.stringify([issuer?.key, subject?.key]), issuer, subject }
}

function principalMark(value: string, issuers: Issuers): SubjectMark {
  const { issuer, subject } = readPrincipal(value, issuers)
  return subjectMark(patternMark(issuer), patternMark(subject))
}
