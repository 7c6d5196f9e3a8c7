// SPDX-License-Identifier: Apache-2.0
// Path templates: `{*}` matches exactly one non-empty segment, `{**}` any text, including `/` and the empty text. Both
// match every character, because a path that a template misses due to its spelling would bypass a DENY. In Istio they
// match only characters that URIs allow. Validation, the index and explanations share this parser.

export type TemplateSegment = { readonly literal: string } | "one"

export interface PathTemplate {
  /** Segments after the leading slash, up to `{**}` or the end. */
  readonly head: readonly TemplateSegment[]
  /** The text after the one that `{**}` matches; undefined if the template has no `{**}`. */
  readonly tail: string | undefined
}

export type TemplateError =
  | "no leading slash"
  | "{**} is not the last operator"
  | "Contains '{' or '}' beyond a supported path template"
  | `Contains segment ${string} with invalid string literal`

export const isTemplate = (path: string): boolean => path.includes("{*}") || path.includes("{**}")

const URI = /^[A-Za-z0-9\-._~%!$&'()+,;:@=*/]*$/

/** Whether an Istio template can match the path: its literals and operators match only these characters. */
export const isUriPath = (path: string): boolean => URI.test(path)

/** RFC 3986 section 3.3 `pchar` without `*`: the characters of a literal segment. */
const LITERAL = /^[A-Za-z0-9\-._~%!$&'()+,;:@=]+$/

export function parseTemplate(path: string): PathTemplate | TemplateError {
  if (!path.startsWith("/")) return "no leading slash"
  const segments = path.slice(1).split("/")
  const head: TemplateSegment[] = []
  const rest: string[] = []
  let many = false
  for (const [index, segment] of segments.entries()) {
    if (segment === "{*}" || segment === "{**}") {
      if (many) return "{**} is not the last operator"
      if (segment === "{*}") head.push("one")
      else many = true
      continue
    }
    if (segment.includes("{") || segment.includes("}")) return "Contains '{' or '}' beyond a supported path template"
    const trailing = segment === "" && index === segments.length - 1
    if (!trailing && !LITERAL.test(segment)) return `Contains segment ${segment} with invalid string literal`
    if (many) rest.push(segment)
    else head.push({ literal: segment })
  }
  return { head, tail: many ? rest.map(segment => `/${segment}`).join("") : undefined }
}
