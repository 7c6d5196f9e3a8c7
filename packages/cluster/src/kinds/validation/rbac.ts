// SPDX-License-Identifier: Apache-2.0
//
// RBAC documents: rules name verbs and either resources or URLs, bindings name an existing kind of role and never
// change it.

import { type FieldError, invalid, notSupported, required } from "../../meta/field-error.js"
import { labelErrors, subdomainErrors } from "../../meta/names.js"
import { asArray, asObject, asString, asStrings, equal, isEmpty, type JsonObject } from "../../value.js"

const GROUP = "rbac.authorization.k8s.io"

function validateRules(role: JsonObject, namespaced: boolean): FieldError[] {
  return asArray(role.rules).flatMap((item, i) => {
    const rule = asObject(item)
    const path = `rules[${i}]`
    const errors: FieldError[] = []
    if (asStrings(rule.verbs).length === 0) errors.push(required(`${path}.verbs`, ""))
    const urls = asStrings(rule.nonResourceURLs)
    if (urls.length > 0) {
      if (namespaced)
        errors.push(invalid(`${path}.nonResourceURLs`, urls, "namespaced rules cannot apply to non-resource URLs"))
      if (!isEmpty(rule.apiGroups) || !isEmpty(rule.resources) || !isEmpty(rule.resourceNames))
        errors.push(
          invalid(
            `${path}.nonResourceURLs`,
            urls,
            "rules cannot apply to both regular resources and non-resource URLs",
          ),
        )
      return errors
    }
    if (isEmpty(rule.apiGroups))
      errors.push(required(`${path}.apiGroups`, "resource rules must supply at least one api group"))
    if (isEmpty(rule.resources))
      errors.push(required(`${path}.resources`, "resource rules must supply at least one resource"))
    return errors
  })
}

export const validateRole = (role: JsonObject): FieldError[] => validateRules(role, true)
export const validateClusterRole = (role: JsonObject): FieldError[] => validateRules(role, false)

function validateBinding(binding: JsonObject, kinds: readonly string[], cluster: boolean): FieldError[] {
  const errors: FieldError[] = []
  const ref = asObject(binding.roleRef)
  if (ref.apiGroup !== GROUP) errors.push(notSupported("roleRef.apiGroup", asString(ref.apiGroup), [GROUP]))
  if (!kinds.includes(asString(ref.kind))) errors.push(notSupported("roleRef.kind", asString(ref.kind), kinds))
  if (asString(ref.name) === "") errors.push(required("roleRef.name"))
  for (const [i, item] of asArray(binding.subjects).entries())
    errors.push(...validateSubject(asObject(item), cluster, `subjects[${i}]`))
  return errors
}

function validateSubject(subject: JsonObject, cluster: boolean, path: string): FieldError[] {
  const errors: FieldError[] = []
  const name = asString(subject.name)
  if (name === "") errors.push(required(`${path}.name`))
  switch (subject.kind) {
    case "ServiceAccount":
      if (name !== "") for (const message of subdomainErrors(name)) errors.push(invalid(`${path}.name`, name, message))
      if (!isEmpty(subject.apiGroup)) errors.push(notSupported(`${path}.apiGroup`, asString(subject.apiGroup), [""]))
      if (cluster && isEmpty(subject.namespace)) errors.push(required(`${path}.namespace`))
      else if (!isEmpty(subject.namespace))
        for (const message of labelErrors(asString(subject.namespace)))
          errors.push(invalid(`${path}.namespace`, asString(subject.namespace), message))
      break
    case "User":
    case "Group":
      if (subject.apiGroup !== GROUP) errors.push(notSupported(`${path}.apiGroup`, asString(subject.apiGroup), [GROUP]))
      break
    default:
      errors.push(notSupported(`${path}.kind`, asString(subject.kind), ["ServiceAccount", "User", "Group"]))
  }
  return errors
}

export const validateRoleBinding = (binding: JsonObject): FieldError[] =>
  validateBinding(binding, ["Role", "ClusterRole"], false)
export const validateClusterRoleBinding = (binding: JsonObject): FieldError[] =>
  validateBinding(binding, ["ClusterRole"], true)

export function bindingUpdate(validate: (binding: JsonObject) => FieldError[]) {
  return (binding: JsonObject, old: JsonObject): FieldError[] => [
    ...validate(binding),
    ...(equal(binding.roleRef ?? null, old.roleRef ?? null)
      ? []
      : [invalid("roleRef", binding.roleRef ?? null, "cannot change roleRef")]),
  ]
}
