// SPDX-License-Identifier: Apache-2.0
// The output of commands that need a whole mesh: `promote` and `wait` as golden files (`npx vitest run -u` updates
// them), and `describe workload` with permissions in one namespace only.
// @module-tag needs/kubectl

import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { SERVICE_ACCOUNTS } from "../../../packages/control/src/kubernetes/resource-type.js"
import { WAIT } from "../control/support/cluster-api.js"
import { Mesh, policy } from "../control/support/mesh.js"

const MERLONCTL = resolve("packages/cli/bin/merlonctl.js")
const AP = "AuthorizationPolicy"

let mesh: Mesh

beforeAll(async () => {
  mesh = await Mesh.start()
  await mesh.workload("web")
})
afterAll(() => mesh.close())

/** What a user sees: both outputs and the exit code. */
async function typed(args: readonly string[], kubeconfig = mesh.control.kubeconfig): Promise<string> {
  const { code, out, err } = await merlonctl(args, kubeconfig)
  const received = err === "" ? "" : `--- on standard error:\n${err}`
  const all = `$ merlonctl ${args.join(" ")}\n${out}${received}--- exit code ${code}\n`
  return all.replaceAll(/port \d+ of the workload/g, "port PORT of the workload")
}

function merlonctl(
  args: readonly string[],
  kubeconfig: string,
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const env = { PATH: process.env.PATH ?? "", HOME: mesh.folder, KUBECONFIG: kubeconfig }
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, [MERLONCTL, ...args], { env, stdio: ["ignore", "pipe", "pipe"] })
    const texts = { out: "", err: "" }
    child.stdout.on("data", (chunk: Buffer) => (texts.out += chunk.toString()))
    child.stderr.on("data", (chunk: Buffer) => (texts.err += chunk.toString()))
    child.once("error", failed)
    child.once("close", code => done({ code, ...texts }))
  })
}

describe("promote", () => {
  const shadow = (name: string, path: string) =>
    policy(AP, name, {
      enforcement: "Shadow",
      action: "DENY",
      rules: [{ to: [{ operation: { methods: ["GET"], paths: [path] } }] }],
    })

  it("shows which requests change, and asks first", async () => {
    await mesh.api.put(shadow("no-admin", "/admin/*"))
    const promote = ["promote", "authorizationpolicy/no-admin", "-n", "foo"]
    const texts = [await typed(promote), await typed([...promote, "--yes"]), await typed(promote)]
    await expect(texts.join("\n")).toMatchFileSnapshot("golden/promote.txt")
    expect((await mesh.api.get(AP, "no-admin", "foo"))?.spec).toMatchObject({ enforcement: "Enforce" })
  })

  it("reports that nothing changes, or that there is no such policy", async () => {
    await mesh.api.put(shadow("no-admin-again", "/admin/*"))
    const texts = [
      await typed(["promote", "ap", "no-admin-again", "-n", "foo", "--yes"]),
      await typed(["promote", "ap", "no-admins", "-n", "foo", "--yes"]),
    ]
    await expect(texts.join("\n")).toMatchFileSnapshot("golden/promote-equal.txt")
  })
})

describe("wait", () => {
  it("reports what it waited for, and why it waited in vain", async () => {
    await mesh.api.put(policy(AP, "late", { selector: { matchLabels: { app: "web" } }, rules: [{}] }))
    await mesh.api.put(policy(AP, "nobody", { selector: { matchLabels: { app: "wep" } }, rules: [{}] }))
    const patient = ["-n", "foo", "--timeout", "2m"]
    const texts = [
      await typed(["wait", "authorizationpolicy/late", ...patient]),
      await typed(["wait", "ap/late", "--for", "condition=Enforced", ...patient]),
      await typed(["wait", "ap/nobody", "--for", "Ready", ...patient]),
      await typed(["wait", "ap/nobody", "--for", "condition=MatchesWorkloads=False", ...patient]),
      await typed(["wait", "ap", "gone", "--for", "delete", ...patient]),
      await typed(["wait", "ap/gone", "--for", "condition=Ready", "-n", "foo", "--timeout", "1ms"]),
      await typed(["wait", "ap/late", "--for", "ready!", ...patient]),
      await typed(["wait", "ap", ...patient]),
    ]
    await expect(texts.join("\n")).toMatchFileSnapshot("golden/wait.txt")
  })
})

describe("describe workload, with permissions in one namespace only", () => {
  beforeAll(async () => {
    const opened = { action: "DENY", rules: [{ to: [{ operation: { paths: ["/root/*"] } }] }] }
    await mesh.api.put(policy(AP, "root", opened, "merlon-system"))
    await mesh.api.ensure({ apiVersion: "v1", kind: "Namespace", metadata: { name: "bar" } })
    await mesh.workload("other", { namespace: "bar" })
  })

  it("a viewer sees everything but the possible callers, and why those are missing", async () => {
    const viewer = await user("viewer", "view")
    const { code, out } = await merlonctl(["describe", "workload", "web", "-n", "foo", "-o", "json"], viewer)
    expect(code).toBe(0)
    const received = JSON.parse(out)
    expect(received).toMatchObject({
      name: "foo/web",
      identity: "spiffe://cluster.local/ns/foo/sa/web",
      pods: [{ name: "web", proxy: { behind: 0 } }],
      calls: [],
    })
    const used = new Map<string, unknown>(received.policies.map((one: Described) => [one.policy, one.uses?.[0]?.field]))
    // Users may know that a policy of the root namespace that applies to them is enforced, but not how it is used.
    expect(used.has("merlon-system/root")).toBe(true)
    expect(used.get("merlon-system/root")).toBeUndefined()
    expect(used.get("foo/no-admin")).toBe("spec.rules[0]")
    // A proof without the policies of the root namespace would be wrong.
    expect(received.callers).toMatchObject({ missing: expect.stringMatching(/forbidden/) })
    const text = (await merlonctl(["describe", "workload", "web", "-n", "foo"], viewer)).out
    expect(text).toMatch(/forbidden/)
    expect(text).not.toContain("(proved)")
  })

  it("an editor sees those too, including the effect of policies that they cannot read", async () => {
    const editor = await user("editor", "edit")
    await vi.waitFor(async () => {
      const { out } = await merlonctl(["describe", "workload", "web", "-n", "foo", "-o", "json"], editor)
      expect(JSON.parse(out).callers).toMatchObject({ result: "proved" })
    }, WAIT)
  })

  it("no user sees a workload of another namespace", async () => {
    const viewer = await user("viewer", "view")
    const { code, out, err } = await merlonctl(["describe", "workload", "other", "-n", "bar"], viewer)
    expect({ code, out }).toEqual({ code: 1, out: "" })
    expect(err).toContain("cannot get resource")
  })
})

interface Described {
  readonly policy: string
  readonly uses?: readonly { readonly field?: string }[]
}

/** The kubeconfig of an account that has the role in `foo` and nowhere else. */
async function user(name: string, role: string): Promise<string> {
  await mesh.api.ensure({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: "foo" } })
  await mesh.api.kubectl(`create rolebinding ${name} -n foo --clusterrole ${role} --serviceaccount foo:${name}`)
  const { status } = await mesh.api.client.createSubresource<{ readonly status: { readonly token: string } }>(
    SERVICE_ACCOUNTS,
    name,
    "token",
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
    "foo",
  )
  const file = join(mesh.folder, `${name}-kubeconfig`)
  const administrator = readFileSync(mesh.control.kubeconfig, "utf8")
  const server = /server: "?([^\s"]+)/.exec(administrator)?.[1]
  const authority = /certificate-authority-data: "?([^\s"]+)/.exec(administrator)?.[1]
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
    clusters: [{ name: "c", cluster: { server, "certificate-authority-data": authority } }],
    users: [{ name: "u", user: { token: status.token } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  }
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  return file
}
