// SPDX-License-Identifier: Apache-2.0
import { describe, it } from "vitest"
import { expectClean, expectError, expectWarning, judge, type Rejection } from "../testing/documents.js"

const KIND = "MeshService"
const split = (...service: readonly object[]) => ({ hosts: ["web"], routes: [{ service }] })
const v1 = { host: "web", name: "v1", labels: { version: "v1" } }
const v2 = { host: "web", name: "v2", labels: { version: "v2" } }
const rule = (fields: object) => ({ hosts: ["web"], rules: [fields] })
const match = (fields: object) => rule({ match: [fields], route: [{ service: [{ host: "web" }] }] })
/** A trafficPolicy with one value at a path. */
const policy = (path: string, value: unknown) => ({
  trafficPolicy: path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value),
})
const MATCH = "spec.rules[0].match[0]"

describe("a MeshService is rejected", () => {
  const rejections: readonly Rejection[] = [
    ["without hosts", {}, "spec.hosts", "name at least one host"],
    ["with one host in place of a list", { hosts: "web" }, "spec.hosts", 'write a list: `["web"]`'],
    ["with a weight in quotes", split({ ...v1, weight: "50" }), "spec.routes[0].service[0].weight", "without quotes"],
    ["with an empty list of hosts", { hosts: [] }, "spec.hosts", "name at least one host"],
    ["with an empty host", { hosts: [""] }, "spec.hosts[0]", "must not be empty"],
    ["with a wildcard host", { hosts: ["*.foo"] }, "spec.hosts[0]", "wildcards are not supported in hosts"],
    ["with a URL as host", { hosts: ["http://web"] }, "spec.hosts[0]", "without scheme and port"],
    [
      "with mode MUTUAL",
      { hosts: ["web"], trafficPolicy: { tls: { mode: "MUTUAL" } } },
      "spec.trafficPolicy.tls.mode",
      "write `DUBBO_MUTUAL`",
    ],
    [
      "with mode MUTUAL for one destination",
      split({ ...v1, trafficPolicy: { tls: { mode: "MUTUAL" } } }),
      "spec.routes[0].service[0].trafficPolicy.tls.mode",
      "write `DUBBO_MUTUAL`",
    ],
    [
      "with an unknown mode",
      { hosts: ["web"], trafficPolicy: { tls: { mode: "DUBO_MUTUAL" } } },
      "spec.trafficPolicy.tls.mode",
      "did you mean `DUBBO_MUTUAL`?",
    ],
    [
      "with another traffic policy",
      { hosts: ["web"], trafficPolicy: { proxyProtocol: {} } },
      "spec.trafficPolicy.proxyProtocol",
      "unknown field `proxyProtocol`",
    ],
    ...(
      [
        ["5", "is not a valid duration"],
        ["-1s", "is out of range"],
        ["61m", "from 0s to 1h"],
        ["1.5us", "only durations to ms precision"],
      ] as const
    ).map(
      ([timeout, message]): Rejection => [
        `with the timeout ${timeout}`,
        { hosts: ["web"], timeout },
        "spec.timeout",
        message,
      ],
    ),
    [
      "with a timeout of a rule that is none",
      rule({ timeout: "soon" }),
      "spec.rules[0].timeout",
      "not a valid duration",
    ],
    ...(
      [
        ["connectionPool.tcp.maxConnections", 0, "from 1 to"],
        ["connectionPool.tcp.maxConnections", "5", "without quotes"],
        ["connectionPool.tcp.connectTimeout", "0s", "from 1ms to 1h"],
        ["connectionPool.tcp.idleTimeout", "2h", "from 1ms to 1h"],
        ["connectionPool.tcp.tcpKeepalive", {}, "notice connections that are gone"],
        ["connectionPool.http.http1MaxPendingRequests", -1, "from 0 to"],
        ["connectionPool.http.http2MaxRequests", 0, "from 1 to"],
        ["connectionPool.http.maxRequestsPerConnection", 1.5, "whole number"],
        ["connectionPool.http.idleTimeout", "soon", "is not a valid duration"],
        ["connectionPool.http.maxRetries", 3, "20 % of the requests"],
        ["connectionPool.http.h2UpgradePolicy", "UPGRADE", "always speak HTTP/2"],
        ["connectionPool.http.http2MaxRequest", 1, "did you mean `http2MaxRequests`?"],
        ["outlierDetection.consecutive5xxErrors", -1, "from 0 to"],
        ["outlierDetection.consecutiveErrors", 5, "old name of `consecutiveGatewayErrors`"],
        ["outlierDetection.interval", "0s", "from 1ms to 1h"],
        ["outlierDetection.baseEjectionTime", "61m", "from 1ms to 1h"],
        ["outlierDetection.baseEjectionTime", "1.5ms", "only durations to ms precision"],
        ["outlierDetection.maxEjectionPercent", 101, "from 0 to 100"],
        ["outlierDetection.minHealthPercent", 101, "from 0 to 100"],
        ["outlierDetection.splitExternalLocalOriginErrors", true, "failed connections count"],
      ] as const
    ).flatMap(([path, value, message]): Rejection[] => [
      [
        `with ${path}: ${JSON.stringify(value)}`,
        { hosts: ["web"], ...policy(path, value) },
        `spec.trafficPolicy.${path}`,
        message,
      ],
      [
        `with ${path}: ${JSON.stringify(value)} for one destination`,
        split({ ...v1, ...policy(path, value) }),
        `spec.routes[0].service[0].trafficPolicy.${path}`,
        message,
      ],
    ]),
    [
      "with a try without time",
      { hosts: ["web"], retries: { attempts: 1, perTryTimeout: "0s" } },
      "spec.retries.perTryTimeout",
      "from 1ms to 1h",
    ],
    ["with too many retries", { hosts: ["web"], retries: { attempts: 11 } }, "spec.retries.attempts", "from 0 to 10"],
    [
      "without a number of retries",
      { hosts: ["web"], retries: { retryOn: "503" } },
      "spec.retries.attempts",
      "`attempts` is missing",
    ],
    [
      "with a misspelt retry condition",
      { hosts: ["web"], retries: { attempts: 1, retryOn: "503, gateway-errors" } },
      "spec.retries.retryOn",
      "did you mean `gateway-error`?",
    ],
    [
      "with a status that is none",
      { hosts: ["web"], retries: { attempts: 1, retryOn: "603" } },
      "spec.retries.retryOn",
      "is not a retry condition",
    ],
    [
      "with a hash as load balancer",
      { hosts: ["web"], trafficPolicy: { loadBalancer: { consistentHash: {} } } },
      "spec.trafficPolicy.loadBalancer.consistentHash",
      "`consistentHash` is not supported",
    ],
    [
      "with an old name of a load balancer",
      { hosts: ["web"], trafficPolicy: { loadBalancer: { simple: "LEAST_CONN" } } },
      "spec.trafficPolicy.loadBalancer.simple",
      "write `LEAST_REQUEST`",
    ],
    [
      "with an unknown load balancer",
      split({ ...v1, trafficPolicy: { loadBalancer: { simple: "ROUNDROBIN" } } }),
      "spec.routes[0].service[0].trafficPolicy.loadBalancer.simple",
      "did you mean `ROUND_ROBIN`?",
    ],
    ...[
      "127.0.0.1",
      "127.1.2.3",
      "::1",
      "::ffff:127.0.0.1",
      "169.254.169.254",
      "fe80::1",
      "0.0.0.0",
      "::",
      "224.0.0.1",
    ].map(
      (host): Rejection => [
        `with ${host} as destination`,
        split({ host }),
        "spec.routes[0].service[0].host",
        "is another place for each caller",
      ],
    ),
    ["with a destination without host", split({ name: "v1" }), "spec.routes[0].service[0].host", "`host` is missing"],
    [
      "with a negative weight",
      split({ ...v1, weight: -1 }),
      "spec.routes[0].service[0].weight",
      "`-1` is out of range",
    ],
    [
      "with a fraction as weight",
      split({ ...v1, weight: 0.5 }),
      "spec.routes[0].service[0].weight",
      "`0.5` is a number, not a whole number",
    ],
    [
      "with a weight in quotes",
      split({ ...v1, weight: "50" }),
      "spec.routes[0].service[0].weight",
      "not a whole number",
    ],
    ["with all weights zero", split({ ...v1, weight: 0 }, { ...v2, weight: 0 }), "spec.routes", "all weights are zero"],
    [
      "with weights on some destinations only",
      split({ ...v1, weight: 80 }, v2),
      "spec.routes[0].service[1].weight",
      "give every destination a weight, or none",
    ],
    [
      "with two definitions of a subset",
      split(v1, { ...v2, name: "v1" }),
      "spec.routes[0].service[1].name",
      "defined twice with different labels",
    ],
    [
      "with a subset without name",
      split({ host: "web", labels: { a: "b" } }),
      "spec.routes[0].service[0]",
      "needs a `name`",
    ],
    [
      "with a subset without labels",
      split({ host: "web", name: "v1", labels: {} }),
      "spec.routes[0].service[0].labels",
      "a subset without labels",
    ],
    [
      "with a wildcard label",
      split({ ...v1, labels: { a: "*" } }),
      "spec.routes[0].service[0].labels.a",
      "wildcard is not supported",
    ],
    [
      "with a port of both kinds",
      split({ ...v1, port: { name: "http", number: 80 } }),
      "spec.routes[0].service[0].port",
      "exactly one of name or number",
    ],
    [
      "with a port of neither kind",
      split({ ...v1, port: {} }),
      "spec.routes[0].service[0].port",
      "exactly one of name or number",
    ],
    [
      "with port 0",
      split({ ...v1, port: { number: 0 } }),
      "spec.routes[0].service[0].port.number",
      "write a whole number from 1 to 65535",
    ],
    ["with a match port out of range", match({ port: 65536 }), `${MATCH}.port`, "out of range"],
    [
      "with two matchers",
      match({ uri: { exact: "/a", prefix: "/b" } }),
      `${MATCH}.uri`,
      "exactly one of exact, prefix or regex must be set, found exact and prefix",
    ],
    ["with an empty matcher", match({ method: {} }), `${MATCH}.method`, "found none"],
    [
      "with a bad expression",
      match({ headers: { a: { regex: "(" } } }),
      `${MATCH}.headers.a.regex`,
      "is not an RE2 expression",
    ],
    [
      "with a backreference, which RE2 lacks",
      match({ uri: { regex: "(a)\\1" } }),
      `${MATCH}.uri.regex`,
      "is not an RE2 expression",
    ],
    [
      "with too many expressions",
      rule({
        match: Array.from({ length: 32 }, () => ({ uri: { regex: "a".repeat(1024) }, host: { regex: "b" } })),
        route: [{ service: [{ host: "web" }] }],
      }),
      "spec.rules[0].match[31].host.regex",
      "the expressions compile to more than 16384 instructions together",
    ],
    [
      "with an impossible header name",
      match({ headers: { "a b": { exact: "x" } } }),
      `${MATCH}.headers[a b]`,
      "not a valid header name",
    ],
    [
      "with text instead of a matcher",
      match({ uri: "/a" }),
      `${MATCH}.uri`,
      "write an object with `exact`, `prefix` and `regex`",
    ],
    ["with a rule without destination", rule({ match: [] }), "spec.rules[0]", "the rule has no destination"],
    ["with routes without destination", { hosts: ["web"], routes: [{}] }, "spec.routes", "there is no destination"],
    [
      "with enforcement, which it lacks",
      { hosts: ["web"], enforcement: "Shadow" },
      "spec.enforcement",
      "unknown field `enforcement`",
    ],
    ["with a misspelt field", { hosts: ["web"], route: [] }, "spec.route", "did you mean `routes`?"],
  ]
  it.each(rejections)("%s", (_, spec, path, message) => {
    expectError(judge(KIND, spec), path, message)
  })
})

describe("a MeshService is accepted", () => {
  it.each([
    [
      "with time limits and retries",
      {
        ...rule({
          timeout: "0s",
          retries: { attempts: 0 },
          route: [{ service: [{ host: "web" }] }],
        }),
        timeout: "1h",
        retries: { attempts: 10, perTryTimeout: "250ms", retryOn: "5xx,unavailable,409", retryNonIdempotent: true },
      },
    ],
    [
      "with limits and ejection",
      {
        hosts: ["web"],
        trafficPolicy: {
          connectionPool: {
            tcp: { maxConnections: 1, connectTimeout: "250ms", idleTimeout: "1h" },
            http: {
              ...{ http1MaxPendingRequests: 0, http2MaxRequests: 2_147_483_647 },
              ...{ maxRequestsPerConnection: 0, idleTimeout: "1ms" },
            },
          },
          outlierDetection: {
            ...{ consecutive5xxErrors: 0, consecutiveGatewayErrors: 1, interval: "10s", baseEjectionTime: "30s" },
            ...{ maxEjectionPercent: 100, minHealthPercent: 0 },
          },
        },
      },
    ],
    ["with hosts alone", { hosts: ["web", "web.foo.svc.cluster.local", "10.0.0.1"] }],
    ["with equal shares", split(v1, v2)],
    ["with weights", split({ ...v1, weight: 100 }, { ...v2, weight: 0 })],
    [
      "with weights over several entries",
      { hosts: ["web"], routes: [{ service: [{ ...v1, weight: 30 }] }, { service: [{ ...v2, weight: 70 }] }] },
    ],
    [
      "with every match",
      match({
        uri: { prefix: "/" },
        method: { exact: "GET" },
        host: { regex: "a|b" },
        headers: { a: { exact: "" } },
        queryParams: { q: { prefix: "x" } },
        port: 80,
      }),
    ],
    [
      "with the fallback of a rule",
      rule({ routes: [{ service: [{ host: "web", name: "web-v2", port: { number: 80 } }] }] }),
    ],
    [
      "with TLS",
      {
        hosts: ["web"],
        trafficPolicy: { tls: { mode: "DUBBO_MUTUAL" }, loadBalancer: { simple: "RANDOM" } },
        routes: [{ service: [{ ...v1, trafficPolicy: { tls: { mode: "DISABLE" } } }] }],
      },
    ],
  ])("%s", (_, spec) => {
    expectClean(judge(KIND, spec))
  })

  it("with a warning if weights do not add up to 100", () => {
    expectWarning(
      judge(KIND, split({ ...v1, weight: 1 }, { ...v2, weight: 2 })),
      "spec.routes",
      "the weights add up to 3, not to 100",
    )
  })
})
