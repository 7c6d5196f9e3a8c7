// SPDX-License-Identifier: Apache-2.0
// Checks an AuthorizationPolicy beyond its schema: rules must be able to match and values must parse. Warns where a
// policy would do more or less than its author likely expects.

import type { MeshNames } from "../../mesh/names.js"
import { checkDenyResponse } from "../deny-response.js"
import { shown } from "../document-error.js"
import { type Field, isObject } from "../field.js"
import { MAX_TEXT } from "../schema.js"
import { checkScope } from "../targets.js"
import { parseConditionKey } from "./condition-key.js"
import { checkPolicySize } from "./cost.js"
import { checkCustom } from "./custom.js"
import { DENY_RESPONSE_OF_OTHERS } from "./definition.js"
import { checkTcpReach } from "./tcp-reach.js"
import { ATTRIBUTE_CHECKS, FIELD_CHECKS } from "./value.js"
import type { ValueCheck } from "./value-finding.js"

export function checkAuthorizationPolicy(spec: Field, _document: Field, names: MeshNames): void {
  checkScope(spec)
  const rules = spec.field("rules")
  const action = spec.field("action").text ?? "ALLOW"
  if ((action === "DENY" || action === "CUSTOM") && rules.items.length === 0 && !isWrong(rules)) {
    rules.error(
      "missing-field",
      `${action} action without \`rules\` is meaningless as it will never be triggered, add an empty rule \`{}\` if you want it be triggered for every request`,
      action === "DENY" ? "write `rules: [{}]` to deny everything" : "write `rules: [{}]` to ask about every request",
    )
  }
  const provider = spec.field("provider")
  if (provider.present && action !== "CUSTOM") {
    provider.error(
      "conflict",
      `\`provider\` must not be with non CUSTOM action, found ${shown(action)}`,
      "remove `provider`",
    )
  }
  const response = spec.field("denyResponse")
  if (response.present && (action === "AUDIT" || action === "CUSTOM")) {
    response.error("conflict", DENY_RESPONSE_OF_OTHERS, "remove `denyResponse`")
  }
  checkDenyResponse(response, names)
  if (action === "CUSTOM") checkCustom(spec)
  checkPolicySize(spec)
  for (const [index, rule] of rules.items.entries()) {
    checkRule(rule, index)
    if (action === "DENY") checkTcpReach(rule)
  }
}

/** Checks one rule of a policy, or one entry of an invariant. */
export function checkRule(rule: Field, index: number): void {
  checkAlternatives(rule.field("from"), "from", "source", index)
  checkAlternatives(rule.field("to"), "to", "operation", index)
  for (const source of rule.field("from").items.map(item => item.field("source"))) {
    checkServiceAccounts(source, index)
    checkValues(source)
  }
  for (const item of rule.field("to").items) checkValues(item.field("operation"))
  for (const condition of rule.field("when").items) checkCondition(condition)
}

function checkAlternatives(
  alternatives: Field,
  word: "from" | "to",
  inner: "source" | "operation",
  index: number,
): void {
  const where = `found at rule ${index}`
  if (Array.isArray(alternatives.value) && alternatives.value.length === 0) {
    // Fail closed: an empty list of alternatives would mean "any caller".
    alternatives.error(
      "empty-value",
      `\`${word}\` must not be empty, ${where}`,
      `remove \`${word}\`, or name an alternative`,
    )
  }
  for (const item of alternatives.items) {
    if (!isObject(item.value)) continue
    const content = item.field(inner)
    if (content.value === undefined) {
      item.error(
        "missing-field",
        `\`${word}.${inner}\` must not be nil, ${where}`,
        `add \`${inner}\`, or remove \`${word}\` to match any`,
      )
    } else if (isObject(content.value) && !content.entries.some(([, list]) => !isEmptyList(list.value))) {
      content.error(
        "empty-value",
        `\`${word}.${inner}\` must not be empty, ${where}`,
        `give it a field with values, or remove \`${word}\` to match any`,
      )
    }
  }
}

function isEmptyList(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0)
}

function checkServiceAccounts(source: Field, index: number): void {
  // Presence counts rather than content, as in the CRD's rule: an empty list is probably a mistake and should be
  // reported.
  const has = (name: string) => source.field(name).present || source.field(`not${capital(name)}`).present
  if (has("serviceAccounts") && (has("principals") || has("namespaces"))) {
    source.error(
      "conflict",
      `cannot set serviceAccounts with namespaces or principals, found at rule ${index}`,
      "use `principals` alone, or `serviceAccounts` alone",
    )
  }
}

function checkValues(content: Field): void {
  for (const [name, list] of content.entries) {
    const positive = name.startsWith("not") ? `${name.charAt(3).toLowerCase()}${name.slice(4)}` : name
    const check: ValueCheck | undefined = Object.hasOwn(FIELD_CHECKS, positive)
      ? FIELD_CHECKS[positive as keyof typeof FIELD_CHECKS] // `hasOwn` has just said so
      : undefined
    if (check === undefined) continue
    warnIfEmpty(list)
    applyTo(list, value => check(value, capital(name)))
  }
}

function warnIfEmpty(list: Field): void {
  if (!Array.isArray(list.value) || list.value.length > 0) return
  list.warn(
    "empty-list",
    "the list is empty, which means the same as leaving it out",
    "add a value or remove the field",
  )
}

function applyTo(list: Field, check: (value: string) => ReturnType<ValueCheck>, prefix = ""): void {
  for (const item of list.items) {
    // Empty and overlong values have been reported already and need no further check.
    if (item.text === undefined || item.text === "" || item.text.length > MAX_TEXT) continue
    const found = check(item.text)
    if (found?.severity === "error") item.error(found.code, prefix + found.problem, found.fix)
    else if (found !== undefined) item.warn(found.code, found.problem, found.fix)
  }
}

function checkCondition(condition: Field): void {
  const key = condition.field("key")
  const text = key.text
  const values = condition.field("values")
  const notValues = condition.field("notValues")
  if (!isObject(condition.value)) return
  if (values.items.length === 0 && notValues.items.length === 0 && !isWrong(values) && !isWrong(notValues)) {
    condition.error(
      "missing-field",
      `at least one of \`values\` or \`notValues\` must be set for key ${shown(text ?? "")}`,
      'add `values`, for example `["*"]` for any that is not empty',
    )
  }
  if (text === undefined || text === "") return
  const parsed = parseConditionKey(text)
  if ("problem" in parsed) {
    key.error(parsed.supported ? "unknown-value" : "not-supported", shown(parsed.problem), shown(parsed.fix))
    return
  }
  const check = ATTRIBUTE_CHECKS[parsed.attribute]
  warnIfEmpty(values)
  warnIfEmpty(notValues)
  applyTo(values, value => check(value, "Values"), `invalid \`value\` for \`key\` ${shown(text)}: `)
  applyTo(notValues, value => check(value, "NotValues"), `invalid \`notValue\` for \`key\` ${shown(text)}: `)
}

/** Contains something that is not a list; the structural check reports that. */
function isWrong(list: Field): boolean {
  return list.present && !Array.isArray(list.value)
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
