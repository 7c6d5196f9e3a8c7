// SPDX-License-Identifier: Apache-2.0
// `a.example.` and `a.example` are the same host: the trailing dot marks a complete name (RFC 1034 section 3.1), and
// browsers and curl send it as the URL has it, even before a port. Rules ignore one trailing dot, in the request and in
// their values.

/** A name of at least one character, its dot, and the port if there is one. */
const DOTTED = /^([^:]+)\.(:\d*)?$/
/**
 * The same for a value in a rule, which may have a star on either side. A prefix `a.*` names the labels that follow.
 */
const DOTTED_PATTERN = /^(\*?[^*:][^:]*)\.(:\d*\*?)?$/

/** A request's host as rules compare it. */
export function withoutTrailingDot(host: string): string {
  return host.endsWith(".") || host.includes(".:") ? host.replace(DOTTED, "$1$2") : host
}

/** A host of a request that rules compare as this one. */
export function hostComparedAs(compared: string): string {
  return withoutTrailingDot(compared) === compared ? compared : compared.replace(DOTTED, "$1..$2")
}

/** A rule's value for a host in the form in which it is compared. */
export function hostPatternWithoutDot(value: string): string {
  return value.replace(DOTTED_PATTERN, "$1$2")
}
