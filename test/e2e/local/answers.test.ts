// SPDX-License-Identifier: Apache-2.0
// What a running mesh reports about itself, from the call to the answer: counted by the proxy, kept by the control
// plane across a restart, queried with the permissions of each user. Then what a new user does there. One mesh serves
// all tests, in their order.
// @module-tag needs/kubectl

import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { journeys } from "../../journeys/journeys.js"
import { Merlonctl } from "./support/merlonctl.js"
import { ownAndIngressPorts } from "./support/own-ports.js"

const POLL = { timeout: 90_000, interval: 500 }
const ANSWERS = "/apis/answers.merlon.dev/v1alpha1"

const folder = mkdtempSync(join(tmpdir(), "answers-"))
const mesh = new Merlonctl(join(folder, "mesh"))

interface Call {
  readonly path: string
  readonly count: number
  readonly verdict: string
}

function raw(path: string, ...flags: readonly string[]): { readonly items: readonly { readonly spec: Call }[] } {
  const args = ["--kubeconfig", `${mesh.data}/kubeconfig`, "get", "--raw", `${ANSWERS}${path}`, ...flags]
  return JSON.parse(execFileSync("kubectl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }))
}

/** Writes a document of the namespace `foo` into a file. */
function write(name: string, rest: string, file = name): string {
  const path = join(folder, `${file}.yaml`)
  writeFileSync(
    path,
    `{ apiVersion: security.merlon.dev/v1alpha3, metadata: { name: ${name}, namespace: foo }, ${rest} }\n`,
  )
  return path
}

const calls = (): readonly Call[] => raw("/namespaces/foo/calls").items.map(({ spec }) => spec)
const call = (path: string): Promise<Response> => fetch(mesh.exposed("httpbin.foo", path))

beforeAll(async () => {
  const { code, stderr } = await mesh.run("up", "--detach", ...(await ownAndIngressPorts()))
  expect({ code, stderr }).toMatchObject({ code: 0 })
})

afterAll(async () => {
  await mesh.run("down")
  rmSync(folder, { recursive: true, force: true })
})

it("counts calls by their shape, without the paths and queries of single calls", async () => {
  for (const path of ["/status/201?token=secret", "/status/202", "/status/203"])
    expect((await call(path)).ok).toBe(true)
  await vi.waitFor(() => expect(calls()).toMatchObject([{ path: "/status/{*}", count: 3, verdict: "allow" }]), POLL)
  expect(JSON.stringify(raw("/calls"))).not.toContain("secret")
})

it("keeps them when the control plane is killed, and counts none twice", async () => {
  const control = mesh.record.processes.find(({ name }) => name === "control-plane") ?? mesh.record.processes[0]
  process.kill(control?.pid ?? 0, "SIGKILL")
  await vi.waitFor(() => expect(calls()).toMatchObject([{ count: 3 }]), POLL)
  expect((await call("/status/204")).status).toBe(204)
  await vi.waitFor(() => expect(calls()).toMatchObject([{ count: 4 }]), POLL)
})

it("explains a denial by the id that its caller received, and shows it in every table", async () => {
  const policy = join(folder, "policy.yaml")
  writeFileSync(
    policy,
    `apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: { name: readers, namespace: foo }
spec:
  action: ALLOW
  rules: [{ to: [{ operation: { paths: ["/status/*"] } }] }]
`,
  )
  expect(await mesh.run("apply", "-f", policy, "--wait", "--timeout", "2m")).toMatchObject({ code: 0 })
  const denied = await call("/headers")
  const id = denied.headers.get("x-merlon-decision") ?? ""
  expect(denied.status).toBe(403)
  // A proxy that times out, as on a busy machine, is queried again.
  const explained = await vi.waitFor(async () => {
    const result = await mesh.run("explain", id)
    expect(result.stdout).toContain("denied: 403 GET /headers")
    return result
  }, POLL)
  expect(explained).toMatchObject({ code: 5 })
  expect(explained.stdout).toContain("rule 0: ✗ to[0].operation.paths wants /status/*; the request has /headers")
  expect(explained.stdout).toMatch(
    /smallest change .*\n {2}add `\/headers` to spec\.rules\[0\]\.to\[0\]\.operation\.paths of foo\/readers\n$/,
  )
  const listed = ["decisions", "-n", "foo", "--verdict", "deny", "--not-path", "/other*", "-o", "json"]
  await vi.waitFor(async () => {
    const lines = (await mesh.run(...listed)).stdout.trim().split("\n")
    expect(lines.map(line => JSON.parse(line))).toMatchObject([{ id, path: "/headers" }])
  }, POLL)
  expect((await mesh.run("explain", "0".repeat(20))).stderr).toContain("among its last thousand")
})

it("reports plaintext callers, used rules, and that proxies are up to date", async () => {
  expect((await call("/status/205")).status).toBe(205)
  // Polls the API path of the command until the call is counted: `kubectl` is a smaller process.
  await vi.waitFor(() => expect(JSON.stringify(raw("/namespaces/foo/rules"))).toMatch(/"count":1\b/), POLL)
  expect((await mesh.run("rules", "-n", "foo")).stdout).toMatch(/foo\/readers .* ALLOW +1 /)
  const ready = await mesh.run("mtls", "ready", "httpbin-1", "-n", "foo")
  expect(ready).toMatchObject({ code: 5 })
  expect(ready.stdout).toMatch(/foo\/httpbin-1 +8080 PERMISSIVE .*waiting/)
  expect(ready.stdout).toContain("Who calls in plaintext")
  expect(await mesh.run("proxy", "status", "-A")).toMatchObject({ code: 0 })
})

it("describes a workload", async () => {
  // On a busy machine a part may be missing, such as a proxy that timed out or an undecided proof. The output says so,
  // and the command is repeated.
  await vi.waitFor(async () => {
    const described = await mesh.run("describe", "workload", "httpbin", "-n", "foo", "-o", "json")
    expect(described).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(described.stdout)).toMatchObject({
      name: "foo/httpbin-1",
      identity: "spiffe://cluster.local/ns/foo/sa/httpbin",
      pods: [
        { name: "httpbin-1", ready: true, proxy: { behind: 0, certificateNotAfter: expect.stringMatching(/Z$/) } },
      ],
      ports: [{ port: 8080, mode: "PERMISSIVE", why: "the default: no PeerAuthentication sets it" }],
      policies: [{ stage: "allow", policy: "foo/readers", uses: [{ field: "spec.rules[0]", count: 1 }] }],
      callers: { result: "proved", ways: [{ callers: "any caller", requests: "/status/*", policy: "foo/readers" }] },
      calls: expect.arrayContaining([expect.objectContaining({ path: "/headers", verdict: "deny" })]),
    })
  }, POLL)
  await vi.waitFor(async () => {
    const text = (await mesh.run("describe", "workload", "foo/httpbin-1")).stdout
    expect(text).toMatch(/httpbin-1 +ready +\S+ +\d+ +\S+ left +http_proxy +up to date/)
    expect(text).toContain("and no other caller (proved)")
  }, POLL)
  expect(await mesh.run("describe", "workload", "nobody", "-n", "foo")).toMatchObject({ code: 1 })
})

it("suggests policies from recorded calls, and names the calls a change affects", async () => {
  const suggested = await mesh.run("suggest", "httpbin-1", "-n", "foo", "-o", "json")
  expect(suggested).toMatchObject({ code: 0 })
  const [suggestion] = JSON.parse(suggested.stdout).suggestions
  expect(suggestion).toMatchObject({
    workload: "foo/httpbin-1",
    policy: { spec: { enforcement: "Shadow", rules: [{ to: [{ operation: { paths: ["/status/{*}"] } }] }] } },
    proofs: { keeps: { verdict: "proved" }, addsNothing: { verdict: "proved" }, asSeen: { verdict: "proved" } },
  })
  const closed = write("closed-status", `kind: AuthorizationPolicy, spec: { action: DENY, rules: [{}] }`)
  const changes = await mesh.run("diff", "-f", closed)
  expect(changes).toMatchObject({ code: 5, stderr: "" })
  expect(changes.stdout).toMatch(/recorded calls affected: \d+ of \d shape/)

  const args = ["--kubeconfig", `${mesh.data}/kubeconfig`, "create", "--raw", `${ANSWERS}/namespaces/foo/suggestions`]
  const input = JSON.stringify({ spec: { workload: "httpbin" } })
  const { status } = JSON.parse(execFileSync("kubectl", [...args, "-f", "-"], { encoding: "utf8", input }))
  // Whether the control plane could prove it within 300 ms depends on the machine.
  expect(status).toMatchObject({ workload: "foo/httpbin-1", policy: suggestion.policy })
  expect(Object.keys(status.proofs).sort()).toEqual(["addsNothing", "asSeen", "keeps"])
})

it("warns about observed plaintext callers before STRICT", async () => {
  const strict = write("strict", `kind: PeerAuthentication, spec: { mtls: { mode: STRICT } }`)
  const { code, stderr } = await mesh.run("apply", "-f", strict)
  expect(code).toBe(0)
  expect(stderr).toMatch(
    /this will block plaintext callers of `foo\/httpbin-1`: `[^`]+` on port 8080 \(\d+ calls, last [^)]+Z\)/,
  )
  expect(await mesh.run("delete", "-f", strict)).toMatchObject({ code: 0 })
})

it("rejects a change that breaks an invariant, with a counterexample", async () => {
  const never = `never: [{ name: nobody reads headers, to: [{ operation: { paths: [/headers] } }] }]`
  const invariant = write("closed", `kind: PolicyInvariant, spec: { ${never} }`)
  const shadow = write("closed", `kind: PolicyInvariant, spec: { enforcement: Shadow, ${never} }`, "shadow")
  const open = write("open", `kind: AuthorizationPolicy, spec: { rules: [{ to: [{ operation: { paths: [/h*] } }] }] }`)
  const broken = "`never: nobody reads headers` of PolicyInvariant `foo/closed` is broken on "
  const holds = async (status: string): Promise<string> => {
    const condition = ["--for", `condition=Holds=${status}`, "--timeout", "2m"]
    const waited = await mesh.run("wait", "policyinvariant/closed", "-n", "foo", ...condition)
    expect(waited).toMatchObject({ code: 0 })
    return (await mesh.run("get", "policyinvariant", "closed", "-n", "foo", "-o", "json")).stdout
  }
  // On a busy machine the proof may be undecided, which rejects too; another attempt has the reason.
  const denied = (...command: readonly string[]): Promise<string> =>
    vi.waitFor(async () => {
      const { code, stderr } = await mesh.run(...command)
      expect(code).not.toBe(0)
      expect(stderr).toContain(broken)
      return stderr
    }, POLL)

  expect(await mesh.run("apply", "-f", invariant)).toMatchObject({ code: 0 })
  expect(await holds("True")).toContain("every rule of the invariant holds for 1 workload (proved)")
  expect(await denied("apply", "-f", open)).toMatch(/GET \/headers .* is allowed by rule 0 of `foo\/open`/)
  const deleted = await denied("delete", "authorizationpolicy", "readers", "-n", "foo")
  expect(deleted).toContain("is allowed, because nothing denies it")
  expect((await call("/headers")).status).toBe(403)

  expect(await mesh.run("apply", "-f", shadow)).toMatchObject({ code: 0 })
  expect(await mesh.run("apply", "-f", open)).toMatchObject({ code: 0 })
  expect(await holds("False")).toContain("is allowed by rule 0 of `foo/open`")
  expect(await mesh.run("delete", "-f", open, "-f", invariant)).toMatchObject({ code: 0 })
}, 360_000)

it("follows decisions as they are made, and only the selected ones", async () => {
  const following = mesh.start(["decisions", "-n", "foo", "--follow", "--path", "/status/4*"])
  await vi.waitFor(async () => {
    await call("/status/200")
    await call("/status/404")
    expect(following.output()).toContain("GET /status/404")
  }, POLL)
  following.child.kill("SIGINT")
  await following.ended
  expect(following.output()).not.toContain("GET /status/200")
})

it("answers only with permission, and viewers of a namespace only about it", () => {
  const kubectl = (...args: readonly string[]): string =>
    execFileSync("kubectl", ["--kubeconfig", `${mesh.data}/kubeconfig`, ...args], { encoding: "utf8", stdio: "pipe" })
  expect(() => raw("/namespaces/foo/calls", "--as", "jane")).toThrow(/forbidden/i)
  kubectl("create", "rolebinding", "jane", "-n", "foo", "--clusterrole", "view", "--user", "jane")
  expect(raw("/namespaces/foo/calls", "--as", "jane").items.length).toBeGreaterThan(0)
  expect(() => raw("/calls", "--as", "jane")).toThrow(/forbidden/i)
  expect(() => raw("/namespaces/foo/decisions", "--as", "jane")).toThrow(/forbidden/i)
})

it("bounds what hostile callers make it store", async () => {
  const words = Array.from(
    { length: 200 },
    (_, n) => `${String.fromCharCode(97 + (n % 26))}${"x".repeat(n % 30)}${String.fromCharCode(97 + (n % 7))}`,
  )
  await Promise.all(words.map(word => call(`/${word}/<script>${word}`).then(response => response.arrayBuffer())))
  await vi.waitFor(() => expect(calls().some(({ path }) => path.includes("{*}/{*}"))).toBe(true), POLL)
  expect(calls().length).toBeLessThan(100)
})

it("allows every caller again when its policy is deleted", async () => {
  expect(await mesh.run("delete", "authorizationpolicy", "readers", "-n", "foo")).toMatchObject({ code: 0 })
  await expect.poll(async () => (await call("/headers")).status, POLL).toBe(200)
})

journeys(mesh)
