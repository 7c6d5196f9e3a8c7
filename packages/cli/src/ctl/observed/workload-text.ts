// SPDX-License-Identifier: Apache-2.0
// The description of a workload as text and as JSON. Names, paths and reasons are external text, so terminal control
// characters are removed.

import { ruleText } from "@merlon/policy/ledger"
import { type Fields, fieldsOf, listOf, textOf, textsOf } from "../foreign.js"
import { visible } from "../terminal.js"
import { age } from "../workload/age.js"
import { type Observation, shortCaller } from "./answers-api.js"
import type { Known, WorkloadDescription } from "./describe-workload.js"
import type { HostTraffic } from "./host-traffic.js"
import { ago, leftOf, shown, stateOf, table } from "./tables.js"

/** The limit of calls in text. JSON contains all. */
const MOST = 20

export function workloadJson(description: WorkloadDescription): object {
  const { workload, rules, callers, calls, destinations, traffic } = description
  return {
    name: `${workload.namespace}/${workload.name}`,
    ...workload.spec,
    policies: listOf(workload.spec.policies)
      .map(fieldsOf)
      .map(policy => ({ ...policy, ...("known" in rules ? { uses: usesOf(policy, rules.known) } : {}) })),
    callers: "known" in callers ? callers.known : callers,
    calls: "known" in calls ? calls.known.map(({ spec }) => spec) : calls,
    destinations: "known" in destinations ? destinations.known.map(({ spec }) => spec) : destinations,
    traffic: "known" in traffic ? traffic.known : traffic,
  }
}

/** Usage in the order of the rules. */
function usesOf({ kind, policy }: Fields, rules: readonly Observation[]): readonly Fields[] {
  const own = rules.map(({ spec }) => spec).filter(spec => spec.kind === kind && spec.policy === policy)
  return own.toSorted((a, b) => Number(a.rule) - Number(b.rule))
}

export function workloadText(description: WorkloadDescription, now: number): string {
  const { workload, rules, callers, calls, destinations, traffic } = description
  const { namespace, name, spec } = workload
  const labels = Object.entries(textsOf(spec.labels)).map(([key, value]) => `${key}=${value}`)
  const otherwise = listOf(spec.otherwise).map(String)
  return [
    `workload  ${visible(`${namespace}/${name}`)}`,
    `identity  ${visible(textOf(spec.identity) ?? "-")}`,
    `labels    ${visible(labels.join(", ") || "-")}`,
    `services  ${visible(listOf(spec.services).map(String).join(", ") || "-")}`,
    ...section("Pods", podLines(spec, now)),
    ...(otherwise.length === 0
      ? []
      : [
          `  other policies apply to ${visible(otherwise.join(", "))}: describe ${otherwise.length === 1 ? "it by its own name" : "them by their own names"}`,
        ]),
    ...section("Ports", portLines(spec)),
    ...section("Policies in evaluation order", policyLines(spec, rules, now)),
    ...section("Who can call it", knownLines(callers, callerLines)),
    ...section("Traffic settings of its Services", knownLines(traffic, trafficLines)),
    ...section(
      "Recorded calls to it",
      knownLines(calls, list => callLines(list, now)),
    ),
    ...section(
      "Calls it makes",
      knownLines(destinations, list => destinationLines(list, spec, now)),
    ),
  ].join("\n")
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return ["", `${title}:`, ...lines.map(line => (line === "" ? line : `  ${line}`))]
}

function knownLines<T>(of: Known<T>, lines: (known: T) => readonly string[]): readonly string[] {
  return "known" in of ? lines(of.known) : [`not known: ${visible(of.missing)}`]
}

const linesOf = (head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  table(head, rows).split("\n")

function podLines({ pods }: Fields, now: number): readonly string[] {
  const rows = listOf(pods)
    .map(fieldsOf)
    .map(({ name, ready, leaving, address, proxied, bypass, udp, proxy }) => {
      const { revision, certificateNotAfter } = fieldsOf(proxy)
      const state = leaving === true ? "leaving" : ready === true ? "ready" : "not ready"
      const seen = proxied !== true ? "none" : proxy === undefined ? "not connected" : stateOf(fieldsOf(proxy))
      const past = textOf(bypass) === undefined ? "" : `; bypassed: ${textOf(bypass)}`
      return [
        shown(name),
        state,
        shown(address),
        shown(revision),
        leftOf(certificateNotAfter, now),
        callsTaken(proxy),
        `${seen}${past}${udpWords(udp)}`,
      ]
    })
  return linesOf(["POD", "STATE", "ADDRESS", "REVISION", "CERTIFICATE", "CALLS", "PROXY"], rows)
}

/** How calls of the Pod's programs reach the mesh. */
function callsTaken(proxy: unknown): string {
  return proxy === undefined ? "-" : (textOf(fieldsOf(proxy).calls) ?? "not captured")
}

function udpWords(udp: unknown): string {
  const { ports, handling } = fieldsOf(udp)
  const named = listOf(ports).map(String).join(", ")
  return named === "" ? "" : `; UDP ${named} ${handling === "refused" ? "denied" : "not covered by policies"}`
}

function portLines({ ports }: Fields): readonly string[] {
  const all = listOf(ports).map(fieldsOf)
  if (all.length === 0) return ["no port is declared"]
  const rows = all.map(({ port, protocol, mode, why, shadow }) => [
    shown(port),
    shown(protocol),
    textOf(shadow) === undefined || shadow === mode ? shown(mode) : `${shown(mode)} (Shadow: ${shown(shadow)})`,
    shown(why),
  ])
  // The same policies apply to every port.
  const [first = {}] = all
  const losers = listOf(first.losers).map(fieldsOf)
  return [
    ...linesOf(["PORT", "PROTOCOL", "MODE", "WHY"], rows),
    ...losers.map(({ policy, why }) => visible(`overridden: \`${shown(policy)}\`: ${shown(why)}`)),
  ]
}

const STAGES = ["transport", "token", "custom", "audit", "deny", "allow"]

function policyLines({ policies }: Fields, rules: Known<readonly Observation[]>, now: number): readonly string[] {
  const all = listOf(policies).map(fieldsOf)
  const rows = STAGES.flatMap(stage => {
    const own = all.filter(policy => policy.stage === stage)
    // Most workloads have no CUSTOM policy.
    if (own.length === 0 && stage === "custom") return []
    return own.length === 0 ? [[stage, "none", "-", "-", "-"]] : own.flatMap(policy => policyRows(policy, rules, now))
  })
  return linesOf(["STAGE", "POLICY", "RULE", "USED", "LAST"], rows)
}

function policyRows(policy: Fields, rules: Known<readonly Observation[]>, now: number): readonly (readonly string[])[] {
  const name = `${shown(policy.policy)}${policy.enforcement === "Shadow" ? " (Shadow)" : ""}`
  const head = [shown(policy.stage), name]
  const uses = "known" in rules ? usesOf(policy, rules.known) : []
  if (uses.length === 0) return [[...head, countOf(policy), "-", "-"]]
  return uses.map(({ field, count, lastSeen }) => [
    ...head,
    shown(field),
    shown(count),
    count === 0 ? "never" : ago(lastSeen, now),
  ])
}

function countOf({ rules }: Fields): string {
  if (rules === 0) return "-"
  return rules === 1 ? "1 rule" : `${shown(rules)} rules`
}

function callerLines({ result, ways, undecided }: Fields): readonly string[] {
  const rows = listOf(ways)
    .map(fieldsOf)
    .map(({ callers, requests, limits, policy, rule }) => [
      shown(callers),
      shown(requests),
      listOf(limits).map(String).join(", ") || "-",
      policy === undefined ? "no ALLOW policy applies" : `rule ${shown(rule)} of \`${shown(policy)}\``,
    ])
  const others = listOf(undecided).map(one => visible(`not decided: ${shown(fieldsOf(one).reason)}`))
  if (rows.length === 0) return result === "proved" ? ["no caller (proved)"] : others
  const end = result === "proved" ? ["and no other caller (proved)"] : others
  return [...linesOf(["CALLERS", "REQUESTS", "LIMITS", "BY"], rows), ...end]
}

/** One line for each setting, because lists of limits are long. */
function trafficLines(traffic: readonly HostTraffic[]): readonly string[] {
  if (traffic.length === 0) return ["defaults: no MeshService applies"]
  const rows = traffic.flatMap(({ service, meshService, scope, settings }) => {
    const settingTexts = Object.entries(settings).map(([field, value]) => `${field}: ${value}`)
    return (settingTexts.length === 0 ? ["the defaults"] : settingTexts).map(line => [
      service,
      meshService,
      scope,
      line,
    ])
  })
  return linesOf(["SERVICE", "MESHSERVICE", "FOR", "SETTING"], rows)
}

/** For a stage in which no rule decided. */
function stageWords(stage: unknown): string {
  if (stage === "allow") return "no ALLOW rule matches"
  return stage === "default" ? "no ALLOW policy applies" : shown(stage)
}

function callLines(calls: readonly Observation[], now: number): readonly string[] {
  if (calls.length === 0) return ["no traffic reported yet"]
  const rows = calls.slice(0, MOST).map(({ spec }) => {
    const { protocol, method, path, port, tls, verdict, stage, rule, count, lastSeen } = spec
    const { policy, rule: index } = fieldsOf(rule)
    const settled = textOf(policy) === undefined ? undefined : { policy: shown(policy), rule: Number(index) }
    return [
      shortCaller(spec),
      `${protocol === "tcp" ? "tcp" : `${shown(method)} ${shown(path)}`} at ${shown(port)}`,
      tls === true ? "mTLS" : "plaintext",
      shown(verdict),
      ruleText(settled) ?? stageWords(stage),
      shown(count),
      `${age(textOf(lastSeen) ?? "", now)} ago`,
    ]
  })
  const more = calls.length - rows.length
  return [
    ...linesOf(["CALLER", "REQUEST", "TRANSPORT", "VERDICT", "BY", "CALLS", "LAST"], rows),
    ...(more > 0 ? [`and ${more} more kinds of calls`] : []),
  ]
}

function destinationLines(destinations: readonly Observation[], { pods }: Fields, now: number): readonly string[] {
  const takes = listOf(pods).some(pod => textOf(fieldsOf(fieldsOf(pod).proxy).calls) !== undefined)
  if (destinations.length === 0) {
    return [takes ? "none since its proxies started" : "not known: none of its connected proxies captures its calls"]
  }
  const shownOnes = destinations.slice(0, MOST).map(({ spec }) => spec)
  const rows = shownOnes.map(({ destination, place, to, transport, count, lastStatus, failures, lastSeen }) => [
    shown(destination),
    textOf(to) ?? (place === "mesh" ? "-" : place === "cluster" ? "no proxy" : "outside the mesh"),
    TRANSPORTS.get(shown(transport)) ?? shown(transport),
    shown(count),
    lastStatus === 0 ? "no answer" : shown(lastStatus),
    shown(failures),
    ago(lastSeen, now),
  ])
  const failed = shownOnes.filter(({ failures }) => failures !== 0)
  const more = destinations.length - rows.length
  return [
    ...linesOf(["DESTINATION", "WORKLOAD", "TRANSPORT", "CALLS", "LAST STATUS", "FAILED", "LAST"], rows),
    ...failed.map(({ destination, lastFailure, lastReason }) =>
      visible(`failed: ${shown(destination)}: ${shown(lastFailure)}: ${shown(lastReason)}`),
    ),
    ...shownOnes.flatMap(({ destination, lastStatus, lastDecision }) =>
      lastStatus === 403 && textOf(lastDecision) !== undefined
        ? [visible(`denied: ${shown(destination)}: \`merlonctl explain ${shown(lastDecision)}\` says why`)]
        : [],
    ),
    ...(more > 0 ? [`and ${more} more destinations`] : []),
  ]
}

const TRANSPORTS: ReadonlyMap<string, string> = new Map([
  ["mtls", "mTLS"],
  ["passthrough", "as sent"],
  ["none", "not reached"],
])
