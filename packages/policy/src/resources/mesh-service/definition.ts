// SPDX-License-Identifier: Apache-2.0
// MeshService: how callers reach a host, with destinations by weight, by match, and with which TLS mode. Every accepted
// field takes effect; a field that would be ignored is rejected.

import { choice, closed, list, optional, record, type TypeOf, text, whole } from "../schema.js"
import { connectionPool, loadBalancer, outlierDetection, retries, timeout } from "./traffic.js"

const MAX_NAME = 253
const MAX_WEIGHT = 2_147_483_647

const clientTlsMode = choice(["DISABLE", "DUBBO_MUTUAL"], {
  description:
    "`DUBBO_MUTUAL` calls with the workload's certificate and checks the server's identity; `DISABLE` calls in plaintext.",
  "x-rejected": {
    MUTUAL: {
      problem: "mode `MUTUAL` is not supported: it would need certificates of your own",
      fix: "write `DUBBO_MUTUAL` for mutual TLS with the mesh's certificates",
    },
  },
})

const trafficPolicy = closed(
  {
    tls: optional(closed({ mode: optional(clientTlsMode) }, { description: "TLS towards the destination." })),
    loadBalancer: optional(loadBalancer),
    connectionPool: optional(connectionPool),
    outlierDetection: optional(outlierDetection),
  },
  { description: "How callers connect." },
)

const ONE_MATCHER: { rule: string; message: string } = {
  rule: "(has(self.exact) ? 1 : 0) + (has(self.prefix) ? 1 : 0) + (has(self.regex) ? 1 : 0) == 1",
  message: "exactly one of exact, prefix or regex must be set",
}

function matcher(description: string) {
  return closed(
    {
      exact: optional(text({ description: "The whole value." })),
      prefix: optional(text({ description: "The beginning of the value." })),
      regex: optional(text({ description: "An RE2 expression for the whole value.", minLength: 1, maxLength: 1024 })),
    },
    { description, "x-kubernetes-validations": [ONE_MATCHER] },
  )
}

const routeMatch = closed(
  {
    uri: optional(matcher("The path.")),
    method: optional(matcher("The HTTP method.")),
    host: optional(matcher("The host as the caller names it.")),
    headers: optional(
      record(matcher("The value of that header."), { description: "Headers by name.", maxProperties: 32 }),
    ),
    queryParams: optional(
      record(matcher("The value of that parameter."), { description: "Query parameters by name.", maxProperties: 32 }),
    ),
    port: optional(
      whole({ description: "The port the caller addresses.", minimum: 1, maximum: 65_535, format: "int32" }),
    ),
  },
  { description: "All the given fields must match." },
)

const destinationPort = closed(
  {
    name: optional(text({ description: "A port of the Service by name.", minLength: 1, maxLength: 63 })),
    number: optional(
      whole({ description: "A port of the Service by number.", minimum: 1, maximum: 65_535, format: "int32" }),
    ),
  },
  {
    description: "The Service port to call, instead of the one the caller addressed.",
    "x-kubernetes-validations": [
      { rule: "has(self.name) != has(self.number)", message: "exactly one of name or number must be set" },
    ],
  },
)

const destination = closed(
  {
    host: text({
      description: "The host addressed. Without a dot it is a Service of this namespace.",
      minLength: 1,
      maxLength: MAX_NAME,
      "x-fix": "write the host of a Service, for example `web` or `web.shop.svc.cluster.local`",
    }),
    name: optional(
      text({
        description: "With `labels`, the name of the subset; without, the Kubernetes Service to call.",
        minLength: 1,
        maxLength: MAX_NAME,
      }),
    ),
    labels: optional(
      record(text({ description: "The value the label must have.", maxLength: 63 }), {
        description: "Labels of the endpoints that make up the subset.",
        maxProperties: 64,
      }),
    ),
    weight: optional(
      whole({
        description:
          "Share of the requests, in proportion to the others; 0 drains. Absent everywhere means equal shares.",
        minimum: 0,
        maximum: MAX_WEIGHT,
        format: "int32",
        "x-fix": "write 0 to drain the destination, or a positive share",
      }),
    ),
    port: optional(destinationPort),
    trafficPolicy: optional(trafficPolicy),
  },
  { description: "One destination." },
)

const route = closed(
  {
    service: optional(list(destination, { description: "Destinations among which requests are split.", maxItems: 32 })),
  },
  { description: "Destinations." },
)

/** The entries of a list of routes are one split, so their weights are checked together. */
const NOT_ALL_ZERO = {
  rule: "!self.exists(r, has(r.service) && r.service.size() > 0) || self.exists(r, has(r.service) && r.service.exists(s, !has(s.weight) || s.weight > 0))",
  message: "all weights are zero",
}

function routes(description: string) {
  return list(route, { description, maxItems: 16, "x-kubernetes-validations": [NOT_ALL_ZERO] })
}

const meshRule = closed(
  {
    match: optional(
      list(routeMatch, {
        description: "Alternatives, any of which matches. Absent matches every request.",
        maxItems: 32,
      }),
    ),
    route: optional(routes("Where a matching request goes; the entries form one weighted split.")),
    routes: optional(routes("Where a request goes that no rule's `match` holds for.")),
    timeout: optional(timeout),
    retries: optional(retries),
  },
  { description: "Rules are tried in order; the first whose `match` holds routes the request." },
)

export const meshServiceSpec = closed(
  {
    hosts: list(
      text({
        description: "A host, exactly. Without a dot it is a Service of this namespace.",
        minLength: 1,
        maxLength: MAX_NAME,
        "x-fix": "write the host of a Service, for example `web` or `web.shop.svc.cluster.local`",
      }),
      { description: "The hosts this object governs.", minItems: 1, maxItems: 64, "x-fix": "name at least one host" },
    ),
    trafficPolicy: optional(trafficPolicy),
    rules: optional(list(meshRule, { description: "Routes by match.", maxItems: 64 })),
    routes: optional(routes("Where every other request goes; the entries form one weighted split.")),
    timeout: optional(timeout),
    retries: optional(retries),
  },
  { description: "How callers reach the hosts." },
)

export type ClientTlsMode = TypeOf<typeof clientTlsMode>
export type ConnectionPool = TypeOf<typeof connectionPool>
export type OutlierDetection = TypeOf<typeof outlierDetection>
export type TrafficPolicy = TypeOf<typeof trafficPolicy>
export type Retries = TypeOf<typeof retries>
export type StringMatch = TypeOf<ReturnType<typeof matcher>>
export type RouteMatch = TypeOf<typeof routeMatch>
export type Destination = TypeOf<typeof destination>
export type Route = TypeOf<typeof route>
export type MeshRule = TypeOf<typeof meshRule>
export type MeshServiceSpec = TypeOf<typeof meshServiceSpec>
