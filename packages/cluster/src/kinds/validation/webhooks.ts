// SPDX-License-Identifier: Apache-2.0
// Webhook configurations: names, targets, rules and declared side effects.

import { duplicate, type FieldError, invalid, notSupported, required } from "../../meta/field-error.js"
import { qualifiedNameErrors, subdomainErrors } from "../../meta/names.js"
import { CelCheckError, checkCel, type StaticType } from "../../schema/cel/checker.js"
import { asArray, asObject, asString, asStrings, isEmpty, isNumber, isObject, type JsonObject } from "../../value.js"

const OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]
const DYN: StaticType = { kind: "dyn" }

export function validateWebhooks(configuration: JsonObject): FieldError[] {
  const names = new Set<string>()
  return asArray(configuration.webhooks).flatMap((item, i) => {
    const webhook = asObject(item)
    const path = `webhooks[${i}]`
    const errors = validateWebhook(webhook, path)
    const name = asString(webhook.name)
    if (names.has(name)) errors.push(duplicate(`${path}.name`, name))
    names.add(name)
    return errors
  })
}

function validateWebhook(webhook: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  const name = asString(webhook.name)
  if (name === "") errors.push(required(`${path}.name`))
  else if (subdomainErrors(name).length > 0) errors.push(invalid(`${path}.name`, name, subdomainErrors(name).join(",")))
  else if (name.split(".").length < 3)
    errors.push(invalid(`${path}.name`, name, "should be a domain with at least three segments separated by dots"))
  errors.push(...reviewVersions(webhook, path), ...rules(webhook, path))
  errors.push(...optionalOneOf(webhook.failurePolicy, ["Fail", "Ignore"], `${path}.failurePolicy`))
  errors.push(...optionalOneOf(webhook.matchPolicy, ["Equivalent", "Exact"], `${path}.matchPolicy`))
  const effects = webhook.sideEffects
  if (effects === undefined || effects === null)
    errors.push(required(`${path}.sideEffects`, "must specify one of None, NoneOnDryRun"))
  else if (effects !== "None" && effects !== "NoneOnDryRun")
    errors.push(notSupported(`${path}.sideEffects`, effects, ["None", "NoneOnDryRun"]))
  const timeout = webhook.timeoutSeconds
  if (isNumber(timeout) && (timeout < 1 || timeout > 30))
    errors.push(invalid(`${path}.timeoutSeconds`, timeout, "the timeout value must be between 1 and 30 seconds"))
  errors.push(...optionalOneOf(webhook.reinvocationPolicy, ["IfNeeded", "Never"], `${path}.reinvocationPolicy`))
  errors.push(...clientConfig(asObject(webhook.clientConfig), `${path}.clientConfig`))
  errors.push(...matchConditions(webhook, path))
  return errors
}

function optionalOneOf(value: unknown, allowed: readonly string[], path: string): FieldError[] {
  return value === undefined || value === null || allowed.includes(value as string)
    ? []
    : [notSupported(path, value as string, allowed)]
}

function reviewVersions(webhook: JsonObject, path: string): FieldError[] {
  const versions = asStrings(webhook.admissionReviewVersions)
  const here = `${path}.admissionReviewVersions`
  if (versions.length === 0) return [required(here, "must specify one of v1, v1beta1")]
  const errors: FieldError[] = []
  const seen = new Set<string>()
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) errors.push(invalid(`${here}[${i}]`, version, "duplicate version"))
    seen.add(version)
  }
  if (!versions.some(version => version === "v1" || version === "v1beta1"))
    errors.push(invalid(here, versions, "must include at least one of v1, v1beta1"))
  return errors
}

function rules(webhook: JsonObject, path: string): FieldError[] {
  return asArray(webhook.rules).flatMap((item, i) => {
    const rule = asObject(item)
    const here = `${path}.rules[${i}]`
    const errors: FieldError[] = []
    const operations = asStrings(rule.operations)
    if (operations.length === 0) errors.push(required(`${here}.operations`))
    if (operations.length > 1 && operations.includes("*"))
      errors.push(invalid(`${here}.operations`, operations, "if '*' is present, must not specify other operations"))
    operations.forEach((operation, o) => {
      if (!OPERATIONS.includes(operation)) errors.push(notSupported(`${here}.operations[${o}]`, operation, OPERATIONS))
    })
    for (const key of ["apiGroups", "apiVersions", "resources"]) {
      const values = asStrings(rule[key])
      if (values.length === 0) errors.push(required(`${here}.${key}`))
      if (key !== "resources" && values.length > 1 && values.includes("*"))
        errors.push(
          invalid(
            `${here}.${key}`,
            values,
            `if '*' is present, must not specify other ${key === "apiGroups" ? "API groups" : "API versions"}`,
          ),
        )
    }
    errors.push(...optionalOneOf(rule.scope, ["*", "Cluster", "Namespaced"], `${here}.scope`))
    return errors
  })
}

function clientConfig(config: JsonObject, path: string): FieldError[] {
  const url = config.url
  const service = config.service
  if ((typeof url === "string") === isObject(service))
    return [required(path, "exactly one of url or service is required")]
  if (isObject(service)) {
    const errors: FieldError[] = []
    for (const key of ["name", "namespace"])
      if (isEmpty(service[key])) errors.push(required(`${path}.service.${key}`, `service ${key} is required`))
    return errors
  }
  const text = asString(url)
  const form = "; desired format: https://host[/path]"
  if (!URL.canParse(text))
    return [
      required(`${path}.url`, `url must be a valid URL: parse ${JSON.stringify(text)}: invalid URI for request${form}`),
    ]
  const parsed = new URL(text)
  const errors: FieldError[] = []
  const scheme = parsed.protocol.replace(":", "")
  if (scheme !== "https") errors.push(invalid(`${path}.url`, scheme, `'https' is the only allowed URL scheme${form}`))
  if (parsed.host === "") errors.push(invalid(`${path}.url`, "", `host must be specified${form}`))
  if (parsed.username !== "")
    errors.push(invalid(`${path}.url`, parsed.username, "user information is not permitted in the URL"))
  if (parsed.hash !== "")
    errors.push(invalid(`${path}.url`, parsed.hash.slice(1), "fragments are not permitted in the URL"))
  if (parsed.search !== "")
    errors.push(invalid(`${path}.url`, parsed.search.slice(1), "query parameters are not permitted in the URL"))
  return errors
}

function matchConditions(webhook: JsonObject, path: string): FieldError[] {
  const names = new Set<string>()
  return asArray(webhook.matchConditions).flatMap((item, i) => {
    const condition = asObject(item)
    const here = `${path}.matchConditions[${i}]`
    const errors: FieldError[] = []
    const expression = asString(condition.expression)
    if (expression.trim() === "") errors.push(required(`${here}.expression`))
    else
      try {
        checkCel(
          expression,
          new Map(
            ["object", "oldObject", "request", "authorizer", "namespaceObject", "params", "variables"].map(name => [
              name,
              DYN,
            ]),
          ),
        )
      } catch (error) {
        if (!(error instanceof CelCheckError)) throw error
        errors.push(invalid(`${here}.expression`, expression, `compilation failed: ${error.message}`))
      }
    const name = asString(condition.name)
    if (name === "") errors.push(required(`${here}.name`))
    else for (const message of qualifiedNameErrors(name)) errors.push(invalid(`${here}.name`, name, message))
    if (names.has(name)) errors.push(duplicate(`${here}.name`, name))
    names.add(name)
    return errors
  })
}
