// SPDX-License-Identifier: Apache-2.0
// Encodes one alternative of a MeshService's match as an Envoy match. It has no host, because the virtual host matches
// that.

import { create } from "@bufbuild/protobuf"
import type { RouteMatch as MeshMatch, StringMatch } from "@merlon/policy/resources"
import {
  type HeaderMatcher,
  HeaderMatcherSchema,
  type QueryParameterMatcher,
  QueryParameterMatcherSchema,
  type RouteMatch,
  RouteMatchSchema,
} from "../generated/envoy/config/route/v3/route_components_pb.js"
import { type RegexMatcher, RegexMatcherSchema } from "../generated/envoy/type/matcher/v3/regex_pb.js"
import { type StringMatcher, StringMatcherSchema } from "../generated/envoy/type/matcher/v3/string_pb.js"

export function encodeMatch({ uri, method, headers = {}, queryParams = {} }: MeshMatch): RouteMatch {
  return create(RouteMatchSchema, {
    pathSpecifier: pathOf(uri),
    headers: [
      ...(method === undefined ? [] : [headerOf(":method", method)]),
      ...Object.entries(headers).map(([name, match]) => headerOf(name.toLowerCase(), match)),
    ],
    queryParameters: Object.entries(queryParams).map(([name, match]) => parameterOf(name, match)),
  })
}

export function methodIn(method: string): HeaderMatcher {
  return headerOf(":method", { exact: method })
}

function pathOf(uri: StringMatch | undefined): RouteMatch["pathSpecifier"] {
  if (uri?.exact !== undefined) return { case: "path", value: uri.exact }
  if (uri?.regex !== undefined) return { case: "safeRegex", value: expression(uri.regex) }
  return { case: "prefix", value: uri?.prefix || "/" }
}

function headerOf(name: string, match: StringMatch): HeaderMatcher {
  return create(HeaderMatcherSchema, {
    name,
    headerMatchSpecifier: matchesAnything(match)
      ? { case: "presentMatch", value: true }
      : { case: "stringMatch", value: textOf(match) },
  })
}

function parameterOf(name: string, match: StringMatch): QueryParameterMatcher {
  return create(QueryParameterMatcherSchema, {
    name,
    queryParameterMatchSpecifier: matchesAnything(match)
      ? { case: "presentMatch", value: true }
      : { case: "stringMatch", value: textOf(match) },
  })
}

/** Whether the match accepts any value. Envoy rejects an empty prefix. */
function matchesAnything({ prefix }: StringMatch): boolean {
  return prefix === ""
}

function textOf({ exact = "", prefix, regex }: StringMatch): StringMatcher {
  if (prefix !== undefined) return create(StringMatcherSchema, { matchPattern: { case: "prefix", value: prefix } })
  if (regex !== undefined) {
    return create(StringMatcherSchema, { matchPattern: { case: "safeRegex", value: expression(regex) } })
  }
  return create(StringMatcherSchema, { matchPattern: { case: "exact", value: exact } })
}

/** Wrapped in a group: some clients add anchors, which would split `a|b`. */
function expression(regex: string): RegexMatcher {
  return create(RegexMatcherSchema, { regex: `(?:${regex})` })
}
