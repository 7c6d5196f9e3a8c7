// SPDX-License-Identifier: Apache-2.0
// The mission's statements in real Pods, with kubectl alone.

import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { beforeAll, describe, expect, inject, it } from "vitest"
import {
  apply,
  command,
  eventually,
  install,
  kubectl,
  podAddress,
  ready,
  sample,
  startCaller,
  status,
  tryKubectl,
} from "../support/cluster.js"

const HTTPBIN = "http://httpbin.foo.svc.cluster.local:8000"
/** Debian's is of 2021; the node's own is of today. */
const OLD_KUBECTL = ["/usr/bin/kubectl"].find(path => existsSync(path) && path !== inject("kubectl"))
const ENFORCED = ["--for=condition=Enforced", "--timeout=90s"]

function token(...args: string[]): { readonly Authorization: string } {
  const mint = ["packages/cli/bin/merlonctl.js", "jwt", "mint", "--key", "samples/keys/private.jwk.json"]
  const text = execFileSync(process.execPath, [...mint, "--iss", "https://issuer.example", "--sub", "alice", ...args])
  return { Authorization: `Bearer ${text.toString().trim()}` }
}

beforeAll(async () => {
  await install()
  await startCaller()
  await apply(sample("manifests/httpbin.yaml"), sample("manifests/web.yaml"), sample("manifests/consumer.yaml"))
  for (const [kind, name, namespace] of [
    ["deploy", "httpbin", "foo"],
    ["deploy", "web-v1", "app"],
    ["deploy", "web-v2", "app"],
    ["deploy", "consumer", "app"],
  ] as const) {
    await ready(kind, name, namespace)
  }
})

describe("injection by the label of a namespace", () => {
  it("puts an xserver on 15080 into its Pods, and into no other", async () => {
    const names = "jsonpath={.items[0].spec.initContainers[*].name}"
    expect(await kubectl("get", "pod", "-n", "foo", "-l", "app=httpbin", "-o", names)).toBe(
      "merlon-init merlon-xserver",
    )
    expect(await kubectl("get", "pod", "-n", "outside", "-o", names)).toBe("")
    expect(await status(`http://${await podAddress("foo", "app=httpbin")}:15080/get`)).toBe(200)
  })

  it("leaves `logs` and `exec` to the application", async () => {
    expect(await kubectl("logs", "-n", "foo", "deploy/httpbin")).not.toContain("xserver")
    expect(await kubectl("exec", "-n", "foo", "deploy/httpbin", "--", "node", "-e", "console.log(1)")).toBe("1")
  })
})

describe("a RequestAuthentication", () => {
  it("refuses bad tokens and, with an AuthorizationPolicy, who has none or the wrong claim", async () => {
    await apply(sample("policies/request-authentication-inline.yaml"))
    await kubectl("wait", "requestauthentication/jwt", "-n", "foo", ...ENFORCED)
    expect(await status(`${HTTPBIN}/get`)).toBe(200)
    expect(await status(`${HTTPBIN}/get`, { Authorization: "Bearer not.a.token" })).toBe(401)
    expect(await status(`${HTTPBIN}/get`, token())).toBe(200)
    await apply(sample("policies/require-token.yaml"))
    await kubectl("wait", "authorizationpolicy/require-jwt", "-n", "foo", ...ENFORCED)
    expect(await status(`${HTTPBIN}/get`)).toBe(403)
    expect(await status(`${HTTPBIN}/get`, token())).toBe(200)
    await apply(sample("policies/require-group.yaml"))
    await eventually(`${HTTPBIN}/get`, 403, token())
    expect(await status(`${HTTPBIN}/get`, token("--claim", 'groups=["admin"]'))).toBe(200)
    expect(await status(`${HTTPBIN}/get`, token("--claim", "groups=dev"))).toBe(403)
  })

  it("lets everybody in again when both are deleted", async () => {
    await kubectl("delete", "requestauthentication/jwt", "authorizationpolicy/require-jwt", "-n", "foo")
    await eventually(`${HTTPBIN}/get`, 200)
  })
})

describe("a PeerAuthentication", () => {
  it("of a namespace wins over the mesh's, and STRICT answers nobody without a certificate", async () => {
    await apply(sample("policies/peer-permissive.yaml"))
    await kubectl("wait", "peerauthentication/default", "-n", "merlon-system", ...ENFORCED)
    expect(await status(`${HTTPBIN}/get`)).toBe(200)
    await apply(sample("policies/peer-strict.yaml"))
    await kubectl("wait", "peerauthentication/default", "-n", "foo", ...ENFORCED)
    expect(await status(`${HTTPBIN}/get`)).toBe(0)
    const called = [
      "exec",
      "-n",
      "app",
      "deploy/consumer",
      "--",
      "xclient",
      "--host",
      "httpbin.foo:8000",
      "--path",
      "/get",
    ]
    expect(await kubectl(...called, "3")).toMatch(/^httpbin 3 100%$/m)
    // The kubelet has no certificate either, and its probes pass.
    expect(
      await kubectl("wait", "pod", "-n", "foo", "-l", "app=httpbin", "--for=condition=Ready", "--timeout=60s"),
    ).toContain("met")
  })

  it("is Ready: nothing leads past it", async () => {
    await kubectl("wait", "peerauthentication/default", "-n", "foo", "--for=condition=Ready", "--timeout=60s")
  })

  it("deleted, leaves the mesh's in force", async () => {
    await kubectl("delete", "peerauthentication/default", "-n", "foo")
    await eventually(`${HTTPBIN}/get`, 200)
  })
})

describe("a MeshService", () => {
  const consumer = (...args: string[]) => kubectl("exec", "-n", "app", "deploy/consumer", "--", "xclient", ...args)

  it("splits calls from inside the consumer's Pod", async () => {
    await apply(sample("policies/web-split.yaml"))
    expect(await consumer("--expect", "v1=50,v2=50", "20")).toMatch(/^v1 10 50%\nv2 10 50%$/)
    const route = JSON.parse(await consumer("--print-route"))
    expect(route.destinations.map((one: { weight: number; tlsMode: string }) => [one.weight, one.tlsMode])).toEqual([
      [50, "DUBBO_MUTUAL"],
      [50, "DUBBO_MUTUAL"],
    ])
  })

  it("deleted, leaves the Service as it is", async () => {
    await kubectl("delete", "meshservice/web", "-n", "app")
    await expect
      .poll(async () => JSON.parse(await consumer("--print-route")).destinations.length, { timeout: 60_000 })
      .toBe(1)
  })
})

describe("a document that is wrong", () => {
  it("is refused by name, and nothing is stored", async () => {
    const wrong = sample("policies/peer-strict.yaml").replace("STRICT", "STRICKT")
    const { code, err } = await tryKubectl(["apply", "-f", "-"], wrong)
    expect(code).toBe(1)
    expect(err).toContain("spec.mtls.mode")
    expect(await kubectl("get", "peerauthentication", "-n", "foo")).toBe("")
  })

  it("applied twice is unchanged", async () => {
    for (const file of ["only-consumer", "require-group", "request-authentication-inline", "web-split"]) {
      await apply(sample(`policies/${file}.yaml`))
      expect(await apply(sample(`policies/${file}.yaml`))).toMatch(/ unchanged$/)
    }
    await kubectl("delete", "ra,ap,ms", "-A", "--all")
  })

  it("is applied on the server by two tools without a conflict, in every version served", async () => {
    const text = sample("policies/request-authentication-inline.yaml")
    const by = (manager: string, document: string) =>
      tryKubectl(["apply", "--server-side", "--field-manager", manager, "-f", "-"], document)
    for (const version of ["v1alpha3", "v1beta1", "v1"]) {
      const document = text.replace("v1alpha3", version)
      for (const manager of ["one", "two", "one"])
        expect(await by(manager, document)).toMatchObject({ code: 0, err: "" })
    }
    await kubectl("wait", "requestauthentication/jwt", "-n", "foo", ...ENFORCED)
    await kubectl("delete", "requestauthentication/jwt", "-n", "foo")
  })

  it.skipIf(OLD_KUBECTL === undefined)("is taken from a kubectl that is years old", async () => {
    const old = (...args: string[]) => command(OLD_KUBECTL ?? "", args, sample("policies/peer-strict.yaml"))
    expect(await old("apply", "-f", "-")).toMatchObject({ code: 0 })
    expect((await old("get", "pa", "-n", "foo")).out).toMatch(/^default .*STRICT/m)
    expect(await old("delete", "pa", "default", "-n", "foo")).toMatchObject({ code: 0 })
    await eventually(`${HTTPBIN}/get`, 200)
  })
})
