// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { meshNames } from "./names.js"

describe("mesh names", () => {
  it("are derived from name and domain", () => {
    expect(meshNames({ mesh: "dubbo", domain: "dubbo.apache.org" })).toEqual({
      mesh: "dubbo",
      domain: "dubbo.apache.org",
      securityGroup: "security.dubbo.apache.org",
      networkingGroup: "networking.dubbo.apache.org",
      version: "v1alpha3",
      rootNamespace: "dubbo-system",
      injectionLabel: "dubbo-injection",
      injectLabel: "sidecar.dubbo.apache.org/inject",
      dryRunAnnotation: "dubbo.apache.org/dry-run",
      category: "dubbo",
      policyCategory: "dubbo-policy",
      tokenAudience: "dubbo-ca",
      decisionHeader: "x-dubbo-decision",
      failureHeader: "x-dubbo-failure",
      askedByHeader: "x-dubbo-asked-by",
      gatewayLabels: {
        Gateway: "dubbo.apache.org/gateway",
        HTTPRoute: "dubbo.apache.org/http-route",
        GRPCRoute: "dubbo.apache.org/grpc-route",
      },
      alpn: ["dubbo", "dubbo-http/1.1", "dubbo-h2"],
    })
  })

  it("are Merlon's by default", () => {
    expect(meshNames()).toMatchObject({
      mesh: "merlon",
      securityGroup: "security.merlon.dev",
      rootNamespace: "merlon-system",
    })
  })

  it.each(["", "Mesh", "a_b", "-a", "a-", "a".repeat(41)])("reject the name `%s`", mesh => {
    expect(() => meshNames({ mesh })).toThrow("must be a DNS label")
  })

  it.each(["", "dev", "A.b", "a..b", "a.b.", `${"a.".repeat(100)}b`])("reject the domain `%s`", domain => {
    expect(() => meshNames({ domain })).toThrow("must be a DNS name")
  })
})
