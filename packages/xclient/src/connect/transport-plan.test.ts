// SPDX-License-Identifier: Apache-2.0
import type { ClientTlsMode } from "@merlon/policy/resources"
import type { EffectiveMode } from "@merlon/policy/selection"
import { describe, expect, it } from "vitest"
import { planTransport } from "./transport-plan.js"

const WEB = "spiffe://cluster.local/ns/app/sa/web"

function plan(
  tlsMode: ClientTlsMode | undefined,
  mtlsMode: EffectiveMode | undefined,
  credentials: boolean,
  ids = [WEB],
) {
  const cluster = { tlsMode, sni: "web.app.svc.cluster.local", identities: ids, name: "outbound|80||web" }
  const result = planTransport(cluster, { mtlsMode, workload: "app/web-1" }, credentials)
  return result.ok ? result.plan.kind : result.reason
}

describe("the transport", () => {
  it.each<[ClientTlsMode | undefined, EffectiveMode | undefined, string]>([
    ["DUBBO_MUTUAL", undefined, "mutual"],
    ["DUBBO_MUTUAL", "DISABLE", "mutual"],
    ["DUBBO_MUTUAL", "PERMISSIVE", "mutual"],
    ["DUBBO_MUTUAL", "STRICT", "mutual"],
    [undefined, "PERMISSIVE", "mutual"],
    [undefined, "STRICT", "mutual"],
    [undefined, "DISABLE", "plaintext"],
    [undefined, undefined, "plaintext"],
    ["DISABLE", undefined, "plaintext"],
    ["DISABLE", "DISABLE", "plaintext"],
    ["DISABLE", "PERMISSIVE", "plaintext"],
  ])("of MeshService %s and server %s is %s", (client, server, expected) => {
    expect(plan(client, server, true)).toBe(expected)
  })

  it("does not exist if MeshService and server contradict each other", () => {
    expect(plan("DISABLE", "STRICT", true)).toMatch(/DISABLE, and `app\/web-1` accepts only mutual TLS \(STRICT\)/)
  })

  it.each<[ClientTlsMode | undefined, EffectiveMode | undefined]>([
    ["DUBBO_MUTUAL", undefined],
    [undefined, "PERMISSIVE"],
    [undefined, "STRICT"],
  ])("never falls back to plaintext without a certificate (%s, %s)", (client, server) => {
    expect(plan(client, server, false)).toMatch(/no valid certificate/)
  })

  it("needs no certificate for plaintext", () => {
    expect(plan(undefined, undefined, false)).toBe("plaintext")
  })

  it("does not exist without an expected identity", () => {
    expect(plan("DUBBO_MUTUAL", "STRICT", true, [])).toMatch(/no identity is known/)
  })
})
