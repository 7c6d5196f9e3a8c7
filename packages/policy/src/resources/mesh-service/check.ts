// SPDX-License-Identifier: Apache-2.0
// Checks a MeshService beyond its schema: hosts that can be called, matches with at least one condition, and weights that
// form a split.

import { parseIp } from "../../request/ip.js"
import { isOwnAddress } from "../../request/own-address.js"
import { shown } from "../document-error.js"
import { type Field, isObject } from "../field.js"
import { isMatchableHeader } from "../header-name.js"
import { checkLabels } from "../labels.js"
import { checkRouteTraffic, checkTrafficPolicy } from "./check-traffic.js"
import { compileExpression, expressionSize, MAX_EXPRESSION_SIZE, MAX_EXPRESSIONS_SIZE } from "./expression.js"

const HOST = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/i
const MATCHERS = ["exact", "prefix", "regex"]

/** State that the checks of a document's rules share. */
interface Seen {
  /** Labels by host and subset name. */
  readonly subsets: Map<string, string>
  /** The compiled size of all expressions so far: compiling them is the most expensive check. */
  expressions: number
}

const MAX_EXPRESSION = 1024

export function checkMeshService(spec: Field): void {
  for (const host of spec.field("hosts").items) checkHost(host)
  const seen: Seen = { subsets: new Map(), expressions: 0 }
  for (const rule of spec.field("rules").items) checkRule(rule, seen)
  checkSplit(spec.field("routes"), seen)
  checkRouteTraffic(spec)
  checkTrafficPolicy(spec.field("trafficPolicy"))
}

function checkRule(rule: Field, seen: Seen): void {
  checkRouteTraffic(rule)
  for (const match of rule.field("match").items) checkMatch(match, seen)
  const matched = checkSplit(rule.field("route"), seen)
  const fallback = checkSplit(rule.field("routes"), seen)
  if (isObject(rule.value) && matched + fallback === 0) {
    rule.error(
      "missing-field",
      "the rule has no destination",
      "add `route: [{service: [{host: ...}]}]`, or remove the rule",
    )
  }
}

function checkMatch(match: Field, seen: Seen): void {
  for (const name of ["uri", "method", "host"]) checkMatcher(match.field(name), seen)
  for (const [name, matcher] of match.field("headers").entries) {
    if (!isMatchableHeader(name)) {
      matcher.error(
        "bad-value",
        `\`${shown(name)}\` is not a valid header name`,
        "write a header name such as `x-tier`",
      )
    }
    checkMatcher(matcher, seen)
  }
  for (const [, matcher] of match.field("queryParams").entries) checkMatcher(matcher, seen)
}

function checkMatcher(matcher: Field, seen: Seen): void {
  if (!isObject(matcher.value)) return
  const given = MATCHERS.filter(name => matcher.field(name).present)
  if (given.length !== 1) {
    matcher.error(
      given.length === 0 ? "missing-field" : "conflict",
      `exactly one of exact, prefix or regex must be set, found ${given.length === 0 ? "none" : given.join(" and ")}`,
      given.length === 0 ? "add one, or remove the field to match anything" : "keep one of them",
    )
  }
  const regex = matcher.field("regex")
  if (regex.text === undefined || regex.text.length > MAX_EXPRESSION) return
  const size = expressionSize(regex.text)
  if (size > MAX_EXPRESSION_SIZE) {
    regex.error(
      "too-large",
      `\`${shown(regex.text)}\` compiles to up to ${size} instructions, more than ${MAX_EXPRESSION_SIZE}`,
      "repeat less often, above all not within another repetition; `*` and `+` have no such cost",
    )
    return
  }
  seen.expressions += size
  if (seen.expressions > MAX_EXPRESSIONS_SIZE) {
    regex.error(
      "too-large",
      `the expressions compile to more than ${MAX_EXPRESSIONS_SIZE} instructions together`,
      "use `exact` or `prefix`, or split the MeshService",
    )
    return
  }
  try {
    compileExpression(regex.text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    regex.error(
      "bad-value",
      `\`${shown(regex.text)}\` is not an RE2 expression: ${shown(reason)}`,
      "see https://github.com/google/re2/wiki/Syntax",
    )
  }
}

/** The entries of a list of routes are one weighted split. Returns the number of its destinations. */
function checkSplit(routes: Field, seen: Seen): number {
  const destinations = routes.items.flatMap(route => route.field("service").items)
  for (const destination of destinations) checkDestination(destination, seen)
  if (
    Array.isArray(routes.value) &&
    routes.value.length > 0 &&
    destinations.length === 0 &&
    routes.items.every(item => isObject(item.value))
  ) {
    routes.error("missing-field", "there is no destination", "add `service: [{host: ...}]`, or remove the field")
  }
  checkWeights(routes, destinations)
  return destinations.length
}

function checkWeights(routes: Field, destinations: readonly Field[]): void {
  const weights = destinations.map(destination => destination.field("weight"))
  const given = weights.filter(weight => weight.present)
  if (given.length === 0 || given.some(weight => typeof weight.value !== "number")) return
  if (given.length < weights.length) {
    const missing = weights.find(weight => !weight.present)
    missing?.error(
      "missing-field",
      "some destinations of the split have a weight and this one has none",
      "give every destination a weight, or none",
    )
    return
  }
  const sum = given.reduce((total, weight) => total + Number(weight.value), 0)
  if (sum === 0) {
    routes.error(
      "bad-value",
      "all weights are zero, so no request could be routed",
      "give one destination a positive weight",
    )
  } else if (sum !== 100) {
    routes.warn(
      "weight-sum",
      `the weights add up to ${sum}, not to 100`,
      "they are taken as proportional shares; make them add up to 100 if they are meant as percentages",
    )
  }
}

function checkDestination(destination: Field, seen: Seen): void {
  checkHost(destination.field("host"))
  checkAddress(destination.field("host"))
  checkTrafficPolicy(destination.field("trafficPolicy"))
  const name = destination.field("name")
  const labels = destination.field("labels")
  checkLabels(labels, "labels")
  const named = labels.entries.length > 0
  if (name.text !== undefined && name.text !== "" && !HOST.test(name.text)) {
    name.error(
      "bad-value",
      `\`${shown(name.text)}\` is not a valid ${named ? "subset" : "Service"} name`,
      "use letters, digits, `-` and `.`",
    )
  }
  if (labels.present && isObject(labels.value) && !named) {
    labels.error(
      "empty-value",
      "a subset without labels has no endpoints of its own",
      "add a label or remove the field",
    )
  }
  if (named && !name.present) {
    destination.error(
      "missing-field",
      "a destination with `labels` is a subset and needs a `name`",
      "add `name`, for example `v1`",
    )
  }
  if (named && name.text !== undefined) checkSubset(destination, name, labels, seen)
  const port = destination.field("port")
  if (isObject(port.value) && port.field("name").present === port.field("number").present) {
    port.error(
      "conflict",
      "exactly one of name or number must be set",
      "name the Service port by `number` or by `name`",
    )
  }
}

/** Two different definitions of a subset are rejected, because only one could take effect. */
function checkSubset(destination: Field, name: Field, labels: Field, seen: Seen): void {
  const id = JSON.stringify([destination.field("host").value, name.text])
  const definition = labels.entries
    .map(([key, { value }]) => JSON.stringify([key, value]))
    .sort((a, b) => (a < b ? -1 : 1))
    .join()
  const earlier = seen.subsets.get(id)
  if (earlier !== undefined && earlier !== definition) {
    name.error(
      "conflict",
      `the subset \`${shown(name.text ?? "")}\` is defined twice with different labels`,
      "give the subsets different names",
    )
  }
  seen.subsets.set(id, earlier ?? definition)
}

/**
 * Rejects addresses that mean a different place for each caller, such as loopback: a caller must not be sent to itself.
 */
function checkAddress(host: Field): void {
  const address = parseIp(host.text ?? "")
  if (address === undefined || !isOwnAddress(address)) return
  host.error(
    "not-supported",
    `\`${shown(address.text)}\` is another place for each caller: loopback, link-local or nobody's address`,
    "write the host of a Service, or an address that is the same for everybody",
  )
}

function checkHost(host: Field): void {
  const text = host.text
  if (text === undefined || text === "") return
  if (text.includes("*")) {
    host.error("bad-value", `wildcards are not supported in hosts, found \`${shown(text)}\``, "write the host in full")
  } else if (!HOST.test(text) && parseIp(text) === undefined) {
    host.error(
      "bad-value",
      `\`${shown(text)}\` is not a valid host`,
      "write a DNS name such as `web.shop.svc.cluster.local`, without scheme and port",
    )
  }
}
