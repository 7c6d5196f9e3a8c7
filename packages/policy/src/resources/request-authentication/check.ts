// SPDX-License-Identifier: Apache-2.0
// Checks a RequestAuthentication beyond its schema: where its keys come from, that they can verify a token, and that
// headers written to requests cannot change the request's meaning.

import type { MeshNames } from "../../mesh/names.js"
import { parseDuration } from "../../shape/duration.js"
import { checkDenyResponse } from "../deny-response.js"
import { shown } from "../document-error.js"
import type { Field } from "../field.js"
import { isWritableHeader } from "../header-name.js"
import { checkScope } from "../targets.js"
import { checkCaBundle } from "./ca-bundle.js"
import { MAX_JWKS } from "./definition.js"
import { checkInlineKeys } from "./inline-keys.js"

const MILLISECOND = 1_000_000n
const MAX_TIMEOUT = 3_600_000n * MILLISECOND

export function checkRequestAuthentication(spec: Field, _document: Field, names: MeshNames): void {
  checkScope(spec)
  checkDenyResponse(spec.field("denyResponse"), names)
  for (const rule of spec.field("jwtRules").items) checkRule(rule)
}

function checkRule(rule: Field): void {
  const uris = [rule.field("jwksUri"), rule.field("jwks_uri")].filter(field => field.present)
  const jwks = rule.field("jwks")
  checkKeyOrigin(rule, uris, jwks)
  for (const uri of uris) checkUri(uri)
  if (jwks.text !== undefined && jwks.text.length <= MAX_JWKS) checkInlineKeys(jwks, jwks.text)
  checkCaBundle(rule, [...uris, rule.field("issuer")])
  checkTimeout(rule.field("timeout"))
  checkOutputHeader(rule.field("outputPayloadToHeader"))
  for (const output of rule.field("outputClaimToHeaders").items) checkOutputHeader(output.field("header"))
}

function checkKeyOrigin(rule: Field, uris: readonly Field[], jwks: Field): void {
  const issuer = rule.field("issuer")
  if (jwks.present && uris.length > 0) {
    jwks.error("conflict", "only one of jwks or jwksUri can be set", "remove one of the two")
  }
  if (uris.length > 1) {
    uris[1]?.error("conflict", "`jwks_uri` is another spelling of `jwksUri`, and both are set", "remove `jwks_uri`")
  }
  const keysGiven = jwks.present || uris.length > 0
  if (!issuer.present) {
    if (keysGiven) {
      rule.warn(
        "any-issuer",
        "without `issuer` a token of any issuer is accepted that these keys sign",
        "add `issuer` exactly as in the `iss` claim of the tokens",
      )
    } else if (typeof rule.value === "object" && rule.value !== null) {
      rule.error(
        "missing-field",
        "issuer or jwksUri must be non-empty string",
        "add `issuer`, and `jwksUri` or `jwks` unless the issuer publishes its keys by OpenID discovery",
      )
    }
    return
  }
  const name = issuer.text
  if (name !== undefined && name !== "" && !keysGiven && !/^https?:\/\//.test(name)) {
    issuer.warn(
      "no-discovery",
      `the issuer \`${shown(name)}\` is no URL, so its keys cannot be found by OpenID discovery`,
      "add `jwksUri` or `jwks`",
    )
  }
}

function checkUri(field: Field): void {
  const text = field.text
  if (text === undefined || text === "") return
  const url = parseUrl(text)
  if (url === undefined) {
    const hasScheme = /^https?:\/\//.test(text)
    field.error(
      "bad-value",
      hasScheme
        ? `\`${shown(text)}\` is not a valid URL`
        : `\`${shown(text)}\` is not an absolute URL: url must have scheme http:// or https://`,
      "write an absolute URL such as `https://issuer.example/.well-known/jwks.json`",
    )
    return
  }
  const scheme = url.protocol.slice(0, -1)
  if (scheme !== "http" && scheme !== "https") {
    field.error(
      "bad-value",
      `URI scheme "${shown(scheme)}" is not supported: url must have scheme http:// or https://`,
      "use an http or https URL",
    )
  } else if (!/^https?:\/\/[^/\\]/.test(text)) {
    // The URL parser accepts `HTTPS:host` and corrects it; the CRD and people who read the policy would not.
    field.error("bad-value", "url must have scheme http:// or https://", "spell the scheme `http://` or `https://`")
  } else if (url.username !== "" || url.password !== "") {
    field.error("not-supported", "credentials in a URL are not supported", "remove the part before `@`")
  }
}

function parseUrl(text: string): URL | undefined {
  // The parser silently drops spaces and line breaks; a URL that contains them is a mistake.
  if (/[\s\p{Cc}]/u.test(text)) return undefined
  return URL.canParse(text) ? new URL(text) : undefined
}

function checkTimeout(field: Field): void {
  const text = field.text
  if (text === undefined || text === "") return
  const duration = parseDuration(text)
  if (duration === undefined) {
    field.error(
      "bad-value",
      `\`${shown(text)}\` is not a valid duration: must be a valid duration greater than 1ms`,
      "write a duration such as `500ms` or `5s`",
    )
  } else if (duration < MILLISECOND) {
    field.error("bad-value", "duration must be greater than 1ms", "write a duration such as `500ms` or `5s`")
  } else if (duration % MILLISECOND !== 0n) {
    field.error("bad-value", "only durations to ms precision are supported", "round it to whole milliseconds")
  } else if (duration > MAX_TIMEOUT) {
    field.error("bad-value", "a timeout of more than an hour is not supported", "write a duration such as `5s`")
  }
}

function checkOutputHeader(field: Field): void {
  const name = field.text?.toLowerCase()
  if (name === undefined || isWritableHeader(name)) return
  field.error(
    "bad-value",
    `the header \`${name}\` belongs to HTTP itself or to the proxy and cannot carry a claim`,
    "write another header, such as `x-jwt-payload`",
  )
}
