// SPDX-License-Identifier: Apache-2.0
// How callers treat a destination, with Istio's field names: time limits, retries, balancing, limits and ejection.
// Tenants choose these values, so they are bounded: none can make a caller wait or retry forever.

import { choice, closed, flag, optional, text, whole } from "../schema.js"

export const MAX_ATTEMPTS = 10
const MAX_COUNT = 2_147_483_647
const MAX_DURATION = 64

/** Conditions of `retryOn` that are not status codes. */
export const RETRY_CONDITIONS = [
  "5xx",
  "gateway-error",
  "reset",
  "connect-failure",
  "refused-stream",
  "retriable-4xx",
  "cancelled",
  "deadline-exceeded",
  "internal",
  "resource-exhausted",
  "unavailable",
] as const

/** Used if `retryOn` is absent. */
export const DEFAULT_RETRY_ON: readonly string[] = [
  "connect-failure",
  "refused-stream",
  "reset",
  "gateway-error",
  "unavailable",
]

function duration(description: string, least: "0s" | "1ms") {
  return text({
    description,
    minLength: 1,
    maxLength: MAX_DURATION,
    "x-fix": "write a duration such as `500ms` or `5s`",
    "x-kubernetes-validations": [
      {
        rule: `duration(self) >= duration('${least}') && duration(self) <= duration('1h')`,
        message: `must be a duration from ${least} to 1h`,
      },
    ],
  })
}

function count(description: string, minimum: 0 | 1, maximum = MAX_COUNT) {
  return whole({ description, minimum, maximum, format: "int32" })
}

export const timeout = duration(
  "Limit for a whole request, retries included, from its end to the end of the response. The caller then gets 504. `0s` or absent: no limit.",
  "0s",
)

export const retries = closed(
  {
    attempts: whole({
      description: "How often a request is sent again, at most. 0 turns retries off.",
      minimum: 0,
      maximum: MAX_ATTEMPTS,
      format: "int32",
      "x-fix": `write a whole number from 0 to ${MAX_ATTEMPTS}`,
    }),
    perTryTimeout: optional(
      duration(
        "Limit for each try, from the end of the request to the beginning of the response. Absent: `timeout` alone.",
        "1ms",
      ),
    ),
    retryOn: optional(
      text({
        description:
          "Conditions under which a request is sent again, separated by commas: `connect-failure`, `refused-stream`, `reset`, `gateway-error` (502, 503, 504), `5xx`, `retriable-4xx` (409), a status code, and for gRPC `cancelled`, `deadline-exceeded`, `internal`, `resource-exhausted`, `unavailable`. Default `connect-failure,refused-stream,reset,gateway-error,unavailable`.",
        minLength: 1,
        maxLength: 256,
        "x-fix": "list conditions, for example `connect-failure,reset,503`",
      }),
    ),
    retryNonIdempotent: optional(
      flag({
        description:
          "Also send requests again that the application may have acted on and whose method is not idempotent, such as POST and gRPC calls. Default `false`.",
      }),
    ),
  },
  {
    description:
      "When and how often a request that failed is sent again. At most 20 % more requests are sent this way.",
  },
)

export const loadBalancer = closed(
  {
    simple: optional(
      choice(["LEAST_REQUEST", "ROUND_ROBIN", "RANDOM"], {
        description:
          "`LEAST_REQUEST`: of two endpoints at random the one with less outstanding work, by latency. `ROUND_ROBIN`: in turn. `RANDOM`: at random. Default `LEAST_REQUEST`.",
        "x-rejected": {
          LEAST_CONN: { problem: "`LEAST_CONN` is the old name of `LEAST_REQUEST`", fix: "write `LEAST_REQUEST`" },
          PASSTHROUGH: {
            problem: "`PASSTHROUGH` is not supported: it would bypass the routes of the host",
            fix: "write `LEAST_REQUEST`, `ROUND_ROBIN` or `RANDOM`",
          },
        },
      }),
    ),
  },
  {
    description: "How requests are balanced over the endpoints of a destination.",
    "x-rejected": {
      consistentHash: {
        problem: "`consistentHash` is not supported",
        fix: "write `simple` with `LEAST_REQUEST`, `ROUND_ROBIN` or `RANDOM`",
      },
    },
  },
)

const tcpLimits = closed(
  {
    maxConnections: optional(
      count(
        "Connections that one caller has to the destination, at most, all endpoints together; to each endpoint that it calls at least one. Default: 1024 to each endpoint.",
        1,
      ),
    ),
    connectTimeout: optional(duration("Limit for connecting, TLS included. Default `10s`.", "1ms")),
    idleTimeout: optional(
      duration("How long a connection that carries bytes other than HTTP may be silent. Default `1h`.", "1ms"),
    ),
  },
  {
    description: "Limits of connections.",
    "x-rejected": {
      maxConnectionDuration: {
        problem: "`maxConnectionDuration` is not supported",
        fix: "limit idle connections with `idleTimeout`, or requests on one with `http.maxRequestsPerConnection`",
      },
      tcpKeepalive: {
        problem: "`tcpKeepalive` is not supported: proxies notice connections that are gone without it",
        fix: "remove the field",
      },
    },
  },
)

const httpLimits = closed(
  {
    http1MaxPendingRequests: optional(
      count(
        "Requests of one caller that wait for a connection to the destination, at most, whatever the version of HTTP. Default 1024.",
        0,
      ),
    ),
    http2MaxRequests: optional(
      count(
        "Requests to the destination that one caller has under way, at most, whatever the version of HTTP. Absent: no limit.",
        1,
      ),
    ),
    maxRequestsPerConnection: optional(count("Requests after which a connection is closed. 0 or absent: no limit.", 0)),
    idleTimeout: optional(duration("How long a connection without requests is kept. Default `30s`.", "1ms")),
  },
  {
    description: "Limits of requests.",
    "x-rejected": {
      maxRetries: {
        problem: "`maxRetries` is not supported: retries stay within 20 % of the requests to a host",
        fix: "remove the field, or lower `retries.attempts`",
      },
      h2UpgradePolicy: {
        problem: "`h2UpgradePolicy` is not supported: proxies always speak HTTP/2 to each other",
        fix: "remove the field",
      },
      useClientProtocol: {
        problem:
          "`useClientProtocol` is not supported: without a proxy, a server gets the version that the program speaks",
        fix: "remove the field",
      },
      maxConcurrentStreams: {
        problem: "`maxConcurrentStreams` is not supported: the server says how many streams a connection has",
        fix: "limit requests with `http2MaxRequests`",
      },
    },
  },
)

export const connectionPool = closed(
  { tcp: optional(tcpLimits), http: optional(httpLimits) },
  { description: "What one caller may have under way. A request beyond a limit gets 503." },
)

export const outlierDetection = closed(
  {
    consecutive5xxErrors: optional(
      count(
        "Responses with a 5xx status in a row, or failed connections, after which an endpoint is ejected. 0 turns it off. Default 5.",
        0,
      ),
    ),
    consecutiveGatewayErrors: optional(
      count("The same for 502, 503, 504, timeouts and failed connections alone. 0 or absent turns it off.", 0),
    ),
    interval: optional(
      duration(
        "An endpoint that stays for so long after an ejection has one ejection forgotten. Default `10s`.",
        "1ms",
      ),
    ),
    baseEjectionTime: optional(
      duration(
        "How long an endpoint is ejected, times the number of its ejections that are not forgotten, up to `5m` or this value. Default `30s`.",
        "1ms",
      ),
    ),
    maxEjectionPercent: optional(
      count(
        "Share of the endpoints that may be ejected at once, in percent. One may always be unless this is 0, but never the last. Default 10.",
        0,
        100,
      ),
    ),
    minHealthPercent: optional(
      count(
        "If fewer of the endpoints than this, in percent, are not ejected, ejected ones get requests as well. Default 0.",
        0,
        100,
      ),
    ),
  },
  {
    description: "When an endpoint that fails gets no requests of this caller for a while.",
    "x-rejected": {
      consecutiveErrors: {
        problem: "`consecutiveErrors` is the old name of `consecutiveGatewayErrors`",
        fix: "write `consecutiveGatewayErrors`, or `consecutive5xxErrors` to count 500 too",
      },
      splitExternalLocalOriginErrors: {
        problem: "`splitExternalLocalOriginErrors` is not supported: failed connections count as errors",
        fix: "remove the field",
      },
      consecutiveLocalOriginFailures: {
        problem: "`consecutiveLocalOriginFailures` is not supported: failed connections count as errors",
        fix: "write `consecutiveGatewayErrors`",
      },
    },
  },
)
