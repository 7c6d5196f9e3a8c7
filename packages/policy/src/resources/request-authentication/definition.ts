// SPDX-License-Identifier: Apache-2.0
// RequestAuthentication: which tokens are accepted. A token at a location where a rule looks must be valid; a missing
// token is fine unless the rule says `presence: REQUIRED`.

import { enforcement, formerTarget, oneScope, selector, targetRefs } from "../common.js"
import { denyResponse } from "../deny-response.js"
import { FIELD_NAME } from "../header-name.js"
import { choice, closed, flag, list, optional, type TypeOf, text } from "../schema.js"

/** The most that is read of a fetched key set. */
export const MAX_JWKS = 262_144
export const MAX_CA_BUNDLE = 65_536
/** Names of written headers are limited to characters that every server reads the same way. */
const OUTPUT_NAME = "^[-_A-Za-z0-9]+$"

const fromHeader = closed(
  {
    name: text({
      description: "Header name, compared without regard to case.",
      minLength: 1,
      maxLength: 256,
      pattern: FIELD_NAME,
      "x-problem": { minLength: "location header name must be non-empty string" },
      "x-fix": "write a header name such as `x-jwt-assertion`",
    }),
    prefix: optional(
      text({
        description: "Prefix of the value before the token, for example `Bearer `.",
        maxLength: 256,
      }),
    ),
  },
  {
    description: "One header that may carry the token.",
    "x-problem": { null: "location header name must be non-null" },
  },
)

const outputClaim = closed(
  {
    header: text({
      description: "Request header to write. One that the caller sent is removed first.",
      minLength: 1,
      maxLength: 256,
      "x-problem": { minLength: "outputClaimToHeaders header and claim value must be non-empty string" },
      "x-fix": "write a header name such as `x-jwt-subject`",
      pattern: OUTPUT_NAME,
    }),
    claim: text({
      description: "Claim to copy; dots descend into nested claims (`realm.role`).",
      minLength: 1,
      maxLength: 1024,
      "x-problem": { minLength: "outputClaimToHeaders header and claim value must be non-empty string" },
      "x-fix": "write the name of a claim such as `sub`",
    }),
  },
  {
    description: "One claim and the header it goes to.",
    "x-problem": { null: "outputClaimToHeaders must not be null" },
  },
)

const jwksUri = {
  description: "Where the issuer's key set is fetched: an absolute http or https URL.",
  minLength: 1,
  maxLength: 2048,
  "x-kubernetes-validations": [
    {
      rule: "self.startsWith('http://') || self.startsWith('https://')",
      message: "url must have scheme http:// or https://",
    },
  ],
} as const

const jwtRule = closed(
  {
    issuer: optional(
      text({
        description:
          "The token's `iss` must be exactly this. Absent, every issuer whose tokens these keys sign is accepted.",
        minLength: 1,
        "x-problem": { minLength: "issuer or jwksUri must be non-empty string" },
        "x-fix": "write the issuer exactly as in the `iss` claim of the tokens",
      }),
    ),
    audiences: optional(
      list(
        text({
          description: "One audience.",
          minLength: 1,
          "x-problem": { minLength: "audience must be non-empty string" },
          "x-fix": "write the audience exactly as in the `aud` claim of the tokens",
        }),
        {
          description: "A token is accepted if one of its audiences is listed. None means any audience.",
          maxItems: 1024,
        },
      ),
    ),
    jwksUri: optional(text(jwksUri)),
    jwks_uri: optional(text({ ...jwksUri, description: "Another spelling of `jwksUri`.", "x-alias": "jwksUri" })),
    jwks: optional(
      text({
        description: "The issuer's public keys, as the text of a JSON Web Key Set. Excludes `jwksUri`.",
        maxLength: MAX_JWKS,
        "x-fix": "write the key set as text, for example `jwks: '{\"keys\":[...]}'`",
      }),
    ),
    caBundle: optional(
      text({
        description:
          "PEM certificates of the authorities of the issuer's server. Keys are fetched only from a server with a certificate of one of them. Absent, the authorities that the control plane trusts count.",
        minLength: 1,
        maxLength: MAX_CA_BUNDLE,
        "x-fix": "write the certificates as PEM, `-----BEGIN CERTIFICATE-----` and so on",
      }),
    ),
    fromHeaders: optional(
      list(fromHeader, {
        description:
          "Headers to look for the token in. None of the three `from` lists means `Authorization: Bearer` and the query parameter `access_token`.",
        maxItems: 64,
      }),
    ),
    fromParams: optional(
      list(
        text({
          description: "Name of a query parameter.",
          minLength: 1,
          maxLength: 256,
          "x-problem": { minLength: "location query must be non-empty string" },
          "x-fix": "write the name of a query parameter",
        }),
        { description: "Query parameters to look for the token in.", maxItems: 64 },
      ),
    ),
    fromCookies: optional(
      list(
        text({
          description: "Name of a cookie.",
          minLength: 1,
          maxLength: 256,
          "x-problem": { minLength: "cookie name must be non-empty string" },
          "x-fix": "write the name of a cookie",
        }),
        { description: "Cookies to look for the token in.", maxItems: 64 },
      ),
    ),
    outputPayloadToHeader: optional(
      text({
        description: "Request header that receives the verified payload, base64url as sent. Empty means none.",
        maxLength: 256,
        pattern: "^[-_A-Za-z0-9]*$",
      }),
    ),
    outputClaimToHeaders: optional(
      list(outputClaim, { description: "Claims of the verified token to copy to request headers.", maxItems: 64 }),
    ),
    forwardOriginalToken: optional(
      flag({ description: "Whether the application still sees the token.", default: false }),
    ),
    timeout: optional(
      text({
        description:
          "Budget for fetching the key set, in whole milliseconds or coarser (`500ms`, `5s`, `1m`). 5 s if absent.",
        minLength: 1,
        maxLength: 64,
        "x-fix": "write a duration such as `500ms` or `5s`",
        "x-kubernetes-validations": [
          { rule: "duration(self) >= duration('1ms')", message: "must be a valid duration greater than 1ms" },
        ],
      }),
    ),
    spaceDelimitedClaims: optional(
      list(
        text({
          description: "Name of a top-level claim.",
          minLength: 1,
          maxLength: 256,
          "x-fix": "write the name of a claim",
        }),
        {
          description: "Claims whose text is a list separated by spaces, besides `scope` and `permission`.",
          maxItems: 64,
        },
      ),
    ),
    requireExpiration: optional(flag({ description: "Whether a token without `exp` is denied.", default: false })),
    presence: optional(
      choice(["OPTIONAL", "REQUIRED"], {
        description: "`REQUIRED` answers a request that has no token where this rule looks with 401 and a challenge.",
        default: "OPTIONAL",
      }),
    ),
  },
  {
    description: "One issuer whose tokens count, where they are found and what becomes of them.",
    "x-kubernetes-validations": [
      {
        rule: "(has(self.jwks) ? 1 : 0) + (has(self.jwksUri) ? 1 : 0) + (has(self.jwks_uri) ? 1 : 0) <= 1",
        message: "only one of jwks or jwksUri can be set",
      },
      {
        rule: "!has(self.caBundle) || !has(self.jwks)",
        message: "caBundle is for keys that are fetched, and jwks has the keys",
      },
      {
        rule: "has(self.issuer) || has(self.jwks) || has(self.jwksUri) || has(self.jwks_uri)",
        message: "issuer or jwksUri must be non-empty string",
      },
    ],
  },
)

export const requestAuthenticationSpec = closed(
  {
    selector: optional(selector),
    targetRefs: optional(targetRefs),
    enforcement: optional(enforcement),
    denyResponse: optional(
      denyResponse(
        "The response to requests whose token is rejected, or missing where it is required. Of several policies with a response, the oldest gives it. Absent, 401 or 403 with the reason. A challenge (`WWW-Authenticate`) is added as long as the status is not changed.",
      ),
    ),
    jwtRules: optional(
      list(jwtRule, { description: "The issuers whose tokens count. None makes the policy a no-op.", maxItems: 4096 }),
    ),
  },
  {
    description: "Which tokens count, for which workloads.",
    "x-rejected": formerTarget,
    "x-kubernetes-validations": [oneScope],
  },
)

export type JwtRule = Omit<TypeOf<typeof jwtRule>, "jwks_uri">
export type RequestAuthenticationSpec = Omit<TypeOf<typeof requestAuthenticationSpec>, "jwtRules"> & {
  readonly jwtRules?: readonly JwtRule[]
}
