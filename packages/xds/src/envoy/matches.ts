// SPDX-License-Identifier: Apache-2.0
// One alternative of a MeshService's match as an Envoy match. It has no host, because that selects the virtual host.

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
    headerMatchSpecifier: saysAnything(match)
      ? { case: "presentMatch", value: true }
      : { case: "stringMatch", value: textOf(match) },
  })
}

function parameterOf(name: string, match: StringMatch): QueryParameterMatcher {
  return create(QueryParameterMatcherSchema, {
    name,
    queryParameterMatchSpecifier: saysAnything(match)
      ? { case: "presentMatch", value: true }
      : { case: "stringMatch", value: textOf(match) },
  })
}

/** An empty beginning is any value; Envoy rejects it in these words. */
function saysAnything({ prefix }: StringMatch): boolean {
  return prefix === ""
}

function textOf({ exact = "", prefix, regex }: StringMatch): StringMatcher {
  if (prefix !== undefined) return create(StringMatcherSchema, { matchPattern: { case: "prefix", value: prefix } })
  if (regex !== undefined) {
    return create(StringMatcherSchema, { matchPattern: { case: "safeRegex", value: expression(regex) } })
  }
  return create(StringMatcherSchema, { matchPattern: { case: "exact", value: exact } })
}

/** In a group of its own: some clients put anchors around it, which would cut `a|b` in two. */
function expression(regex: string): RegexMatcher {
  return create(RegexMatcherSchema, { regex: `(?:${regex})` })
}
