// SPDX-License-Identifier: Apache-2.0
import { meshNames, readProviderSettings } from "@merlon/policy/mesh"
import { validate } from "@merlon/policy/resources"
import { describe, expect, it } from "vitest"
import { parse, parseAllDocuments } from "yaml"
import { importIstio } from "./translate.js"

const names = meshNames()
const imported = (text: string) =>
  importIstio(
    parseAllDocuments(text).map(document => document.toJS()),
    names,
  )

describe("security policies of Istio", () => {
  it("keep their meaning under our group, and the root namespace is ours", () => {
    const { documents, remarks } = imported(`
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system, resourceVersion: "7", annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}
spec: {mtls: {mode: STRICT}}
status: {conditions: []}
---
apiVersion: security.istio.io/v1beta1
kind: AuthorizationPolicy
metadata: {name: a, namespace: foo, annotations: {istio.io/dry-run: "true"}}
spec: {action: DENY, rules: [{to: [{operation: {paths: ["/admin*"]}}]}]}
`)
    expect(documents).toEqual([
      {
        apiVersion: "security.merlon.dev/v1alpha3",
        kind: "PeerAuthentication",
        metadata: { name: "default", namespace: "merlon-system" },
        spec: { mtls: { mode: "STRICT" } },
      },
      {
        apiVersion: "security.merlon.dev/v1alpha3",
        kind: "AuthorizationPolicy",
        metadata: { name: "a", namespace: "foo", annotations: { "merlon.dev/dry-run": "true" } },
        spec: { action: "DENY", rules: [{ to: [{ operation: { paths: ["/admin*"] } }] }] },
      },
    ])
    expect(remarks).toEqual([
      expect.objectContaining({ severity: "changed", about: "PeerAuthentication istio-system/default" }),
    ])
  })

  it("are left out as a whole if a part has no counterpart", () => {
    const { documents, remarks } = imported(`
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: ext, namespace: foo}
spec: {action: DENY, rules: [{when: [{key: experimental.envoy.filters.a, values: [b]}]}]}
`)
    expect(documents).toEqual([])
    expect(remarks.map(({ severity }) => severity)).toContain("lost")
  })

  it("keep CUSTOM, with the providers that the mesh declares", () => {
    const { documents, remarks } = imported(`
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: ext, namespace: foo}
spec: {action: CUSTOM, provider: {name: opa}, rules: [{}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: istio, namespace: istio-system}
data:
  mesh: |
    extensionProviders:
      - {name: opa, envoyExtAuthzGrpc: {service: policy/opa.policy.svc.cluster.local, port: 9191, timeout: 2s}}
      - name: login
        envoyExtAuthzHttp:
          service: login.svc
          port: "4180"
          failOpen: true
          pathPrefix: /check
          includeRequestHeadersInCheck: [cookie]
          headersToUpstreamOnAllow: [x-auth-user]
          headersToDownstreamOnDeny: [location]
      - {name: otel, opentelemetry: {service: a, port: 1}}
      - {name: wide, envoyExtAuthzGrpc: {service: a, port: 1, includeRequestBodyInCheck: {maxRequestBytes: 1}}}
      - {name: token, envoyExtAuthzHttp: {service: a, port: 1, headersToUpstreamOnAllow: [authorization]}}
`)
    const [policy, configMap] = documents
    expect(policy?.spec).toEqual({ action: "CUSTOM", provider: { name: "opa" }, rules: [{}] })
    const { data, metadata } = configMap ?? {}
    expect(metadata).toEqual({ name: "merlon-providers", namespace: "merlon-system" })
    const file = (data as { "providers.yaml": string })["providers.yaml"] // it was just written
    const defaults = { pathPrefix: "", failureMode: "closed", headersToUpstream: [] }
    expect(readProviderSettings(parse(file), () => "")).toEqual([
      expect.objectContaining({
        ...defaults,
        name: "opa",
        protocol: "grpc",
        address: "opa.policy.svc.cluster.local:9191",
        timeoutMs: 2_000,
        sendHeaders: ["*"],
      }),
      {
        name: "login",
        protocol: "http",
        address: "login.svc:4180",
        pathPrefix: "/check",
        timeoutMs: 1_000,
        failureMode: "open",
        sendHeaders: ["authorization", "cookie"],
        headersToUpstream: ["x-auth-user"],
        headersToCaller: ["location"],
      },
    ])
    expect(remarks.filter(({ severity }) => severity === "lost").map(({ about }) => about)).toEqual([
      "extension provider wide",
      "extension provider token",
    ])
  })
})

describe("routes of Istio", () => {
  it("become one MeshService with expanded subsets", () => {
    const { documents, remarks } = imported(`
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: app}
spec:
  hosts: [web]
  http:
    - match: [{name: canary, headers: {x-canary: {exact: "true"}}}]
      route: [{destination: {host: web, subset: v2, port: {number: 80}}}]
    - route:
        - {destination: {host: web.app.svc.cluster.local, subset: v1}, weight: 90}
        - {destination: {host: web, subset: v2}, weight: 10}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: app}
spec:
  host: web
  trafficPolicy: {tls: {mode: ISTIO_MUTUAL}}
  subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]
`)
    const tls = { trafficPolicy: { tls: { mode: "DUBBO_MUTUAL" } } }
    expect(documents).toMatchObject([
      {
        kind: "MeshService",
        spec: {
          hosts: ["web"],
          rules: [
            {
              match: [{ headers: { "x-canary": { exact: "true" } } }],
              route: [
                { service: [{ host: "web", name: "v2", labels: { version: "v2" }, port: { number: 80 }, ...tls }] },
              ],
            },
          ],
          routes: [
            {
              service: [
                { name: "v1", weight: 90, ...tls },
                { name: "v2", weight: 10, ...tls },
              ],
            },
          ],
        },
      },
    ])
    for (const document of documents) expect(validate(document, names).errors).toEqual([])
    expect(remarks).toEqual([])
  })

  it("keep time limits, retries, balancing, limits and ejection", () => {
    const { documents, remarks } = imported(`
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: app}
spec:
  hosts: [web]
  http:
    - match: [{uri: {prefix: /slow}}]
      route: [{destination: {host: web, subset: v2}}]
    - timeout: 3s
      retries: {attempts: 4, perTryTimeout: 500ms, retryOn: "5xx,retriable-status-codes,429"}
      route: [{destination: {host: web, subset: v1}}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: app}
spec:
  host: web
  trafficPolicy:
    loadBalancer: {simple: LEAST_CONN}
    connectionPool: {tcp: {maxConnections: 0, connectTimeout: 1s}, http: {http1MaxPendingRequests: 0, http2MaxRequests: 7}}
    outlierDetection: {consecutive5xxErrors: 3, maxEjectionPercent: 0}
  subsets:
    - {name: v1, labels: {version: v1}}
    - {name: v2, labels: {version: v2}, trafficPolicy: {loadBalancer: {simple: ROUND_ROBIN}}}
`)
    const common = {
      connectionPool: { tcp: { connectTimeout: "1s" }, http: { http2MaxRequests: 7 } },
      outlierDetection: { consecutive5xxErrors: 3 },
    }
    const v1 = { ...common, loadBalancer: { simple: "LEAST_REQUEST" } }
    const v2 = { ...common, loadBalancer: { simple: "ROUND_ROBIN" } }
    expect(documents.map(({ spec }) => spec)).toEqual([
      {
        hosts: ["web"],
        rules: [
          {
            match: [{ uri: { prefix: "/slow" } }],
            route: [{ service: [{ host: "web", name: "v2", labels: { version: "v2" }, trafficPolicy: v2 }] }],
          },
          {
            route: [{ service: [{ host: "web", name: "v1", labels: { version: "v1" }, trafficPolicy: v1 }] }],
            timeout: "3s",
            retries: { attempts: 4, perTryTimeout: "500ms", retryOn: "5xx,429", retryNonIdempotent: true },
          },
        ],
      },
    ])
    for (const document of documents) expect(validate(document, names).errors).toEqual([])
    expect(remarks).toEqual([])
  })

  it("retry under Istio's default conditions, and not at all without a number of attempts", () => {
    const retries = (written: string) =>
      imported(
        `apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: web, namespace: app}\nspec: {hosts: [web], http: [{retries: ${written}, route: [{destination: {host: web}}]}]}`,
      ).documents.map(({ spec }) => spec)
    expect(retries("{attempts: 2}")).toMatchObject([
      { retries: { retryOn: "connect-failure,refused-stream,unavailable,cancelled", retryNonIdempotent: true } },
    ])
    expect(retries("{}")).toMatchObject([{ retries: { attempts: 0 } }])
    expect(retries("{attempts: 2, retryOn: retriable-headers}")).toMatchObject([{ retries: { attempts: 0 } }])
  })

  it("lose what Merlon rejects, and the reason is listed", () => {
    const { documents, remarks } = imported(`
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: app}
spec:
  hosts: [web]
  http: [{timeout: 2h, retries: {attempts: 99}, route: [{destination: {host: web}}]}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: app}
spec:
  host: web
  trafficPolicy:
    tls: {mode: ISTIO_MUTUAL, subjectAltNames: [a]}
    loadBalancer: {consistentHash: {useSourceIp: true}}
    connectionPool: {http: {maxRetries: 3, http2MaxRequests: 7}}
    portLevelSettings: [{port: {number: 80}}]
`)
    expect(documents.map(({ spec }) => spec)).toEqual([
      {
        hosts: ["web"],
        routes: [
          {
            service: [
              {
                host: "web",
                trafficPolicy: {
                  tls: { mode: "DUBBO_MUTUAL" },
                  connectionPool: { http: { http2MaxRequests: 7 } },
                },
              },
            ],
          },
        ],
      },
    ])
    expect(remarks.map(({ about, severity, message }) => `${severity} ${about}: ${message.split(":")[0]}`)).toEqual([
      "lost DestinationRule app/web: `spec.trafficPolicy.tls.subjectAltNames` has no counterpart",
      "lost DestinationRule app/web: `spec.trafficPolicy.portLevelSettings` is left out",
      "lost DestinationRule app/web: `spec.trafficPolicy.loadBalancer.consistentHash` is left out",
      "lost DestinationRule app/web: `spec.trafficPolicy.connectionPool.http.maxRetries` is left out",
      "lost VirtualService app/web: `spec.http[0].retries.attempts` is left out",
      "lost VirtualService app/web: `spec.http[0].timeout` is left out",
    ])
    expect(remarks[3]?.message).toContain("retries stay within 20 % of the requests")
  })

  it("of a rule count if its host has no routes of its own", () => {
    const { documents } = imported(`
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: app}
spec: {hosts: [front], http: [{route: [{destination: {host: web}}]}]}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: app}
spec: {host: web, trafficPolicy: {tls: {mode: ISTIO_MUTUAL}}}
`)
    expect(documents).toMatchObject([
      { metadata: { name: "web" }, spec: { hosts: ["front"] } },
      {
        metadata: { name: "web-rule" },
        spec: { hosts: ["web"], trafficPolicy: { tls: { mode: "DUBBO_MUTUAL" } } },
      },
    ])
  })

  it.each([
    ["a gateway's", "gateways: [public]\n  http: []", "is for a gateway"],
    [
      "those that change requests",
      "http: [{fault: {}, route: [{destination: {host: web}}]}]",
      "`http[].fault` has no counterpart",
    ],
    ["a subset nobody defines", "http: [{route: [{destination: {host: web, subset: v9}}]}]", "the subset `v9`"],
  ])("are left out if they are %s", (_, spec, message) => {
    const { documents, remarks } = imported(
      `apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: web, namespace: app}\nspec:\n  hosts: [web]\n  ${spec}\n`,
    )
    expect(documents).toEqual([])
    expect(remarks).toEqual([expect.objectContaining({ severity: "lost", message: expect.stringContaining(message) })])
  })
})

describe("everything else", () => {
  it("that opts in to injection is converted, and unsupported labels are listed", () => {
    const { documents, remarks } = imported(`
apiVersion: v1
kind: Namespace
metadata: {name: foo, labels: {istio-injection: enabled}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
---
apiVersion: networking.istio.io/v1
kind: EnvoyFilter
metadata: {name: e, namespace: foo}
`)
    expect(documents).toEqual([
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "foo", labels: { "merlon-injection": "enabled" } } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } },
    ])
    expect(remarks.map(({ about, severity }) => [about, severity])).toEqual([
      ["Namespace foo", "changed"],
      ["EnvoyFilter foo/e", "lost"],
    ])
  })
})
