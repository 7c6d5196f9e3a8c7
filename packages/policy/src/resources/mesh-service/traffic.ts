// SPDX-License-Identifier: Apache-2.0
// How callers treat a destination, in Istio's words: time limits, retries and balancing. Values that tenants choose are bounded, so
// that none makes a caller wait or try without end.

import { choice, closed, flag, optional, text, whole } from "../schema.js"

export const MAX_ATTEMPTS = 10
const MAX_DURATION = 64

/** Conditions of `retryOn` that are no status code. */
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

/** Where `retryOn` is absent. */
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
        "x-refused": {
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
    "x-refused": {
      consistentHash: {
        problem: "`consistentHash` is not supported",
        fix: "write `simple` with `LEAST_REQUEST`, `ROUND_ROBIN` or `RANDOM`",
      },
    },
  },
)
