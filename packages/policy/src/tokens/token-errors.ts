// SPDX-License-Identifier: Apache-2.0
// Every reason to deny a token: code, HTTP status and the literal body that clients compare. The texts are a published
// contract, so this table is the only place where they are written. The one status other than 401 is 403 for an audience
// mismatch.

const TABLE = {
  JwtMissing: [401, "Jwt is missing"],
  JwtBadFormat: [401, "Jwt is not in the form of Header.Payload.Signature with two dots and 3 sections"],
  JwtHeaderBadBase64: [401, "Jwt header is an invalid Base64url encoded"],
  JwtHeaderBadJson: [401, "Jwt header is an invalid JSON"],
  JwtHeaderBadAlg: [401, "Jwt header [alg] field is required and must be a string"],
  JwtHeaderAlgNotSupported: [401, "Jwt header [alg] is not supported"],
  JwtHeaderBadKid: [401, "Jwt header [kid] field is not a string"],
  // Only Merlon rejects such tokens.
  JwtHeaderCritNotSupported: [401, "Jwt header [crit] names an extension that is not supported"],
  JwtPayloadBadBase64: [401, "Jwt payload is an invalid Base64url encoded"],
  JwtPayloadBadJson: [401, "Jwt payload is an invalid JSON"],
  JwtIssNotString: [401, "Jwt payload [iss] field is not a string"],
  JwtSubNotString: [401, "Jwt payload [sub] field is not a string"],
  JwtJtiNotString: [401, "Jwt payload [jti] field is not a string"],
  JwtIatNotInteger: [401, "Jwt payload [iat] field is not an integer"],
  JwtIatOutOfRange: [401, "Jwt payload [iat] field is not a positive 64 bit integer"],
  JwtNbfNotInteger: [401, "Jwt payload [nbf] field is not an integer"],
  JwtNbfOutOfRange: [401, "Jwt payload [nbf] field is not a positive 64 bit integer"],
  JwtExpNotInteger: [401, "Jwt payload [exp] field is not an integer"],
  JwtExpOutOfRange: [401, "Jwt payload [exp] field is not a positive 64 bit integer"],
  JwtAudNotStringOrList: [401, "Jwt payload [aud] field is not a string or string list"],
  JwtSignatureBadBase64: [401, "Jwt signature is an invalid Base64url encoded"],
  JwtUnknownIssuer: [401, "Jwt issuer is not configured"],
  JwtNotYetValid: [401, "Jwt not yet valid"],
  JwtExpired: [401, "Jwt is expired"],
  // Only Merlon has this error, for rules with `requireExpiration`.
  JwtExpRequired: [401, "Jwt payload [exp] field is required"],
  JwtAudienceNotAllowed: [403, "Audiences in Jwt are not allowed"],
  JwksKidAlgMismatch: [401, "Jwks doesn't have key to match kid or alg from Jwt"],
  JwtVerificationFail: [401, "Jwt verification fails"],
  JwtEd25519SignatureWrongLength: [401, "Jwt ED25519 signature is wrong length"],
  JwksNoValidKeys: [401, "Jwks doesn't have any valid public key"],
  JwksFetchFail: [401, "Jwks remote fetch is failed"],
} as const satisfies Record<string, readonly [401 | 403, string]>

/** The fix, unless the token is simply malformed. */
const ADVICE: { readonly [error in keyof typeof TABLE]?: string } = {
  JwtMissing: "send a token where the rule looks, usually `Authorization: Bearer TOKEN`",
  JwtBadFormat: "send a signed token with all three parts; other credentials are not supported",
  JwtHeaderAlgNotSupported: "make the issuer sign with a supported algorithm",
  JwtHeaderCritNotSupported: "ask the issuer for tokens without `crit`",
  JwtUnknownIssuer: "add the issuer to a RequestAuthentication, exactly as in the token",
  JwtNotYetValid: "check the clocks of the issuer and the proxy",
  JwtExpired: "get a new token",
  JwtExpRequired: "ask the issuer for tokens that expire, or remove `requireExpiration`",
  JwtAudienceNotAllowed: "ask the issuer for a token with an accepted audience, or add the audience to the rule",
  JwksKidAlgMismatch: "check whether the issuer has rotated its keys, and whether the rule refers to the right ones",
  JwtVerificationFail: "check whether the token was modified, or signed with another key",
  JwksNoValidKeys: "give the rule a key set with at least one usable public key",
  JwksFetchFail: "check that the control plane can fetch the issuer's keys; the policy's status has the reason",
}

export type TokenError = keyof typeof TABLE

export const TOKEN_ERRORS = Object.freeze(Object.keys(TABLE)) as readonly TokenError[] // the keys are exactly the union

export function tokenErrorStatus(error: TokenError): 401 | 403 {
  return TABLE[error][0]
}

/** General advice; `tokenHelp` has the fix for a certain token. */
export function tokenErrorAdvice(error: TokenError): string {
  return ADVICE[error] ?? "the token is malformed: inspect it with `merlonctl jwt inspect`, and ask its issuer"
}

export function tokenErrorText(error: TokenError): string {
  return TABLE[error][1]
}
