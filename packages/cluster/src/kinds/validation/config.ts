// SPDX-License-Identifier: Apache-2.0
//
// ConfigMaps and Secrets: keys, sizes, the keys that each Secret type requires, and the fields that `immutable`
// freezes.

import { type FieldError, forbidden, invalid, required, tooLong } from "../../meta/field-error.js"
import { configKeyErrors } from "../../meta/names.js"
import { asObject, asString, equal, type JsonObject } from "../../value.js"
import { JsonSyntaxError, parseJson } from "../../wire/json.js"

const MAX_SIZE = 1024 * 1024

function keys(object: JsonObject, field: string): FieldError[] {
  return Object.keys(asObject(object[field])).flatMap(key =>
    configKeyErrors(key).map(message => invalid(`${field}[${key}]`, key, message)),
  )
}

export function validateConfigMap(map: JsonObject): FieldError[] {
  const errors = keys(map, "data")
  const binary = asObject(map.binaryData)
  let size = 0
  for (const [key, value] of Object.entries(asObject(map.data))) {
    if (Object.hasOwn(binary, key)) errors.push(invalid(`data[${key}]`, key, "duplicate of key present in binaryData"))
    size += Buffer.byteLength(asString(value))
  }
  errors.push(...keys(map, "binaryData"))
  for (const value of Object.values(binary)) size += (asString(value).length * 3) / 4
  if (size > MAX_SIZE) errors.push(tooLong("", MAX_SIZE))
  return errors
}

export function validateConfigMapUpdate(map: JsonObject, old: JsonObject): FieldError[] {
  return [...frozen(map, old, ["data", "binaryData"]), ...validateConfigMap(map)]
}

function frozen(object: JsonObject, old: JsonObject, fields: readonly string[]): FieldError[] {
  if (old.immutable !== true) return []
  const message = "field is immutable when `immutable` is set"
  const errors: FieldError[] = object.immutable === true ? [] : [forbidden("immutable", message)]
  for (const field of fields)
    if (!equal(object[field] ?? null, old[field] ?? null)) errors.push(forbidden(field, message))
  return errors
}

const requiredKeys: Record<string, string[]> = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
}

export function validateSecret(secret: JsonObject): FieldError[] {
  const errors = keys(secret, "data")
  const data = asObject(secret.data)
  const size = Object.values(data).reduce((sum: number, value) => sum + (asString(value).length * 3) / 4, 0)
  if (size > MAX_SIZE) errors.push(tooLong("data", MAX_SIZE))
  const type = asString(secret.type)
  for (const key of requiredKeys[type] ?? []) if (!Object.hasOwn(data, key)) errors.push(required(`data[${key}]`))
  if (type === "kubernetes.io/basic-auth" && !Object.hasOwn(data, "username") && !Object.hasOwn(data, "password"))
    errors.push(required("data[username]"), required("data[password]"))
  if (
    type === "kubernetes.io/service-account-token" &&
    !asString(asObject(asObject(secret.metadata).annotations)["kubernetes.io/service-account.name"])
  )
    errors.push(required("metadata.annotations[kubernetes.io/service-account.name]"))
  const docker =
    type === "kubernetes.io/dockerconfigjson"
      ? ".dockerconfigjson"
      : type === "kubernetes.io/dockercfg"
        ? ".dockercfg"
        : ""
  if (docker !== "") {
    if (!Object.hasOwn(data, docker)) errors.push(required(`data[${docker}]`))
    else
      try {
        parseJson(Buffer.from(asString(data[docker]), "base64").toString())
      } catch (error) {
        if (!(error instanceof JsonSyntaxError)) throw error
        errors.push(invalid(`data[${docker}]`, "<secret contents redacted>", error.message))
      }
  }
  return errors
}

export function validateSecretUpdate(secret: JsonObject, old: JsonObject): FieldError[] {
  const errors = frozen(secret, old, ["data"])
  if (secret.type !== old.type) errors.push(invalid("type", secret.type ?? null, "field is immutable"))
  return [...errors, ...validateSecret(secret)]
}
