// SPDX-License-Identifier: Apache-2.0
// The main requirements in real Pods, using only kubectl.

import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { beforeAll, describe, expect, inject, it } from "vitest"
import { program } from "../node/programs.js"
import { apply, command, eventually, kubectl, podAddress, sample, status, tryKubectl } from "../support/cluster.js"
import { startMesh } from "../support/mesh.js"

const HTTPBIN = "http://httpbin.foo.svc.cluster.local:8000"
/** kubectl 1.28, of 2023; the node's own kubectl is current. */
const OLD_KUBECTL = [program("kubectl-old")].find(path => existsSync(path))
const ENFORCED = ["--for=condition=Enforced", "--timeout=150s"]

function token(...args: string[]): { readonly Authorization: string } {
  const mint = ["packages/cli/bin/merlonctl.js", "jwt", "mint", "--key", "samples/keys/private.jwk.json"]
  const text = execFileSync(process.execPath, [...mint, "--iss", "https://issuer.example", "--sub", "alice", ...args])
  return { Authorization: `Bearer ${text.toString().trim()}` }
}

beforeAll(startMesh)

describe("injection by namespace label", () => {
  it("adds an xserver on 15080 to Pods of the namespace, and to no others", async () => {
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
  it("rejects bad tokens and, with an AuthorizationPolicy, requests without a token or claim", async () => {
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

  it("stops applying when both policies are deleted", async () => {
    await kubectl("delete", "requestauthentication/jwt", "authorizationpolicy/require-jwt", "-n", "foo")
    await eventually(`${HTTPBIN}/get`, 200)
  })
})

describe("a policy that targets a Service instead of labels", () => {
  const naming = (kind: string, name: string): object => ({
    apiVersion: "security.merlon.dev/v1",
    kind: "AuthorizationPolicy",
    metadata: { name: "closed", namespace: "foo" },
    spec: { targetRefs: [{ kind, name }] },
  })

  it("protects the workloads behind it, and no workload if the Service does not exist", async () => {
    await apply(naming("Service", "httpbin"))
    await kubectl("wait", "ap/closed", "-n", "foo", "--for=condition=Ready", "--timeout=150s")
    expect(await status(`${HTTPBIN}/get`)).toBe(403)
    await apply(naming("Service", "htpbin"))
    await eventually(`${HTTPBIN}/get`, 200)
    const reason = 'jsonpath={.status.conditions[?(@.type=="Accepted")].reason}'
    await expect
      .poll(() => kubectl("get", "ap", "closed", "-n", "foo", "-o", reason), { timeout: 150_000 })
      .toBe("TargetNotFound")
    await kubectl("delete", "ap/closed", "-n", "foo")
  })

  it("is rejected for kinds that select no workload", async () => {
    const { code, err } = await tryKubectl(["apply", "-f", "-"], JSON.stringify(naming("Gateway", "public")))
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("a target must be a Service") })
  })
})

describe("a PeerAuthentication", () => {
  it("of a namespace overrides the mesh's, and STRICT requires a certificate", async () => {
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
    // The kubelet has no certificate either, but its probes pass.
    expect(
      await kubectl("wait", "pod", "-n", "foo", "-l", "app=httpbin", "--for=condition=Ready", "--timeout=150s"),
    ).toContain("met")
  })

  it("is Ready: no path bypasses it", async () => {
    await kubectl("wait", "peerauthentication/default", "-n", "foo", "--for=condition=Ready", "--timeout=150s")
  })

  it("leaves the mesh's policy in force when it is deleted", async () => {
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

  it("leaves the Service unchanged when it is deleted", async () => {
    await kubectl("delete", "meshservice/web", "-n", "app")
    await expect
      .poll(async () => JSON.parse(await consumer("--print-route")).destinations.length, { timeout: 150_000 })
      .toBe(1)
  })
})

describe("a document", () => {
  it("is rejected with its name if it is invalid, and nothing is stored", async () => {
    const wrong = sample("policies/peer-strict.yaml").replace("STRICT", "STRICKT")
    const { code, err } = await tryKubectl(["apply", "-f", "-"], wrong)
    expect(code).toBe(1)
    expect(err).toContain("spec.mtls.mode")
    expect(await kubectl("get", "peerauthentication", "-n", "foo")).toBe("")
  })

  it("is unchanged when it is applied twice", async () => {
    for (const file of ["only-consumer", "require-group", "request-authentication-inline", "web-split"]) {
      await apply(sample(`policies/${file}.yaml`))
      expect(await apply(sample(`policies/${file}.yaml`))).toMatch(/ unchanged$/)
    }
    await kubectl("delete", "ra,ap,ms", "-A", "--all")
  })

  it("can be applied server-side by two tools without a conflict, in every served version", async () => {
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
})

describe("merlonctl in a Pod", () => {
  it("reads policies with the permissions of the Pod's account", async () => {
    const reader = { name: "reader", namespace: "outside" }
    const bound = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "policy-reader" }
    const rules = [
      { apiGroups: ["security.merlon.dev", "networking.merlon.dev"], resources: ["*"], verbs: ["get", "list"] },
    ]
    const container = {
      name: "merlonctl",
      image: inject("image"),
      imagePullPolicy: "IfNotPresent",
      command: ["merlonctl", "get", "policies", "-A"],
    }
    await apply(
      sample("policies/only-consumer.yaml"),
      { apiVersion: "v1", kind: "ServiceAccount", metadata: reader },
      { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: bound.name }, rules },
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: bound.name },
        roleRef: bound,
        subjects: [{ kind: "ServiceAccount", ...reader }],
      },
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: reader,
        spec: { serviceAccountName: reader.name, restartPolicy: "Never", containers: [container] },
      },
    )
    const phase = ["get", "pod", reader.name, "-n", reader.namespace, "-o", "jsonpath={.status.phase}"]
    await expect.poll(() => kubectl(...phase), { timeout: 150_000 }).toMatch(/Succeeded|Failed/)
    expect(await kubectl("logs", "-n", reader.namespace, reader.name)).toMatch(/authorizationpolicy\S*\/only-consumer/)
    await kubectl("delete", "-n", reader.namespace, `pod/${reader.name}`, `sa/${reader.name}`)
    await kubectl("delete", "ap", "-A", "--all")
    await kubectl("delete", `clusterrole/${bound.name}`, `clusterrolebinding/${bound.name}`)
  })
})

describe.skipIf(OLD_KUBECTL === undefined)("a kubectl that is three years old", () => {
  const old = (args: readonly string[], input = "") => command(OLD_KUBECTL ?? "", args, input)

  it("has the expected version", async () => {
    expect((await old(["version", "--client"])).out).toContain("v1.28")
  })

  it("applies, waits, patches, explains and deletes policies", async () => {
    expect(await old(["apply", "-f", "-"], sample("policies/peer-strict.yaml"))).toMatchObject({
      code: 0,
      // The earlier tests called in plaintext, and these callers may have been reported by now.
      err: expect.stringMatching(/^(Warning: this will block plaintext callers of `foo\/httpbin`: .*\n)?$/),
    })
    expect(await old(["apply", "-f", "-"], sample("policies/peer-strict.yaml"))).toMatchObject({
      out: expect.stringMatching(/ unchanged$/m),
    })
    expect(await old(["wait", "pa/default", "-n", "foo", ...ENFORCED])).toMatchObject({ code: 0 })
    expect((await old(["get", "pa", "-n", "foo"])).out).toMatch(/^default .*STRICT/m)
    expect(await status(`${HTTPBIN}/get`)).toBe(0)
    const mode = ["--type", "merge", "-p", '{"spec":{"mtls":{"mode":"PERMISSIVE"}}}']
    expect(await old(["patch", "pa", "default", "-n", "foo", ...mode])).toMatchObject({ code: 0 })
    await eventually(`${HTTPBIN}/get`, 200)
    expect((await old(["explain", "pa.spec.targetRefs"])).out).toMatch(/whatever\s+way they are called/)
    expect(await old(["delete", "pa", "default", "-n", "foo"])).toMatchObject({ code: 0 })
  })

  it("reports errors by name, and calls from inside a Pod", async () => {
    const wrong = sample("policies/peer-strict.yaml").replace("STRICT", "STRICKT")
    expect(await old(["apply", "-f", "-"], wrong)).toMatchObject({ code: 1, err: expect.stringContaining("mtls.mode") })
    expect(await old(["apply", "-f", "-"], sample("policies/web-split.yaml"))).toMatchObject({ code: 0 })
    const called = ["exec", "-n", "app", "deploy/consumer", "--", "xclient", "--expect", "v1=50,v2=50", "20"]
    expect((await old(called)).out).toContain("v1 10 50%")
    expect(await old(["delete", "ms", "web", "-n", "app"])).toMatchObject({ code: 0 })
  })
})
