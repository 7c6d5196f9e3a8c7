// SPDX-License-Identifier: Apache-2.0
// The answers API behind a real API server: discovered, printed and described like any other API, with each user's own
// permissions.

import { beforeAll, describe, expect, it } from "vitest"
import { apply, kubectl, merlonctl, sample, status, tryKubectl, tryMerlonctl } from "../support/cluster.js"
import { startMesh } from "../support/mesh.js"

const GROUP = "answers.merlon.dev"
const BASE = `/apis/${GROUP}/v1alpha1`
const APP = ["-n", "app"]
const ROOT = ["-n", "merlon-system"]
const WAIT = { timeout: 150_000, interval: 500 }

const bound = (user: string, role: string) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { name: user, namespace: "app" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
})
const called = (...args: string[]) => kubectl("exec", ...APP, "deploy/consumer", "--", "xclient", ...args)

beforeAll(async () => {
  await startMesh()
  await apply(sample("policies/only-consumer.yaml"), bound("vera", "view"), bound("edith", "edit"))
  await kubectl("wait", "ap/only-consumer", ...APP, "--for=condition=Enforced", "--timeout=150s")
  expect(await status("http://web.app/")).toBe(403)
  await called("--host", "web", "3")
  return async () => {
    await kubectl("delete", "ap/only-consumer", "rolebinding/vera", "rolebinding/edith", ...APP)
  }
})

describe("the answers API", () => {
  it("is available and discovered", async () => {
    await kubectl("wait", `apiservice/v1alpha1.${GROUP}`, "--for=condition=Available", "--timeout=150s")
    const found = await kubectl("api-resources", `--api-group=${GROUP}`, "-o", "name")
    expect(found.split("\n").sort()).toEqual(
      [
        ...["analyses", "callers", "calls", "changes", "decisions", "destinations", "diffs", "explanations"],
        ...["proxies", "reach", "readiness", "rules", "suggestions", "workloads"],
      ].map(name => `${name}.${GROUP}`),
    )
    expect(JSON.parse(await kubectl("get", "--raw", `${BASE}/namespaces/app/proxies`)).kind).toBe("ProxyList")
  })

  it("is printed with its own columns, in wide format and for all namespaces", async () => {
    const calls = () => kubectl("get", `calls.${GROUP}`, ...APP)
    await expect
      .poll(calls, WAIT)
      .toMatch(/ns\/app\/sa\/consumer +app\/web-v\d +\d+ +GET \/ +allow +app\/only-consumer\[0\]$/m)
    expect(await calls()).toMatch(/^LAST SEEN +COUNT +CALLER +WORKLOAD +PORT +REQUEST +VERDICT +RULE\n/)
    // Each proxy reports on its own.
    await expect.poll(calls, WAIT).toMatch(/outside\S* +app\/web-v\d +\d+ +GET \/ +deny/)
    expect(await kubectl("get", `calls.${GROUP}`, "-A", "-o", "wide")).toMatch(
      /^NAMESPACE +LAST SEEN .* STAGE +FIRST SEEN +NAME\n/,
    )
    expect(await kubectl("get", `proxies.${GROUP}`, ...APP)).toMatch(
      /^NAME +WORKLOAD +CONNECTED +REVISION +BEHIND +REJECTION\n(consumer|web)-/,
    )
    expect(await kubectl("get", `workloads.${GROUP}`, ...APP)).toMatch(/^NAME +IDENTITY +PORTS +PODS +POLICIES\n/)
    expect(await kubectl("get", `readiness.${GROUP}`, ...APP)).toMatch(/^NAME +PORTS +CALLS +STRICT +WHY\n/)
    expect(await kubectl("get", `rules.${GROUP}`, ...APP)).toMatch(/^app\/only-consumer +spec\.rules\[0\] +ALLOW +\d+/m)
    const whole = JSON.parse(await kubectl("get", `rules.${GROUP}`, ...APP, "-o", "json"))
    expect(whole.items[0]).toMatchObject({ kind: "RuleUsage", spec: { policy: "app/only-consumer", rule: 0 } })
  })

  it("has a schema and documentation", async () => {
    const described = JSON.parse(await kubectl("get", "--raw", "/openapi/v3"))
    const path = described.paths[BASE.slice(1)]?.serverRelativeURL ?? ""
    expect(Object.keys(JSON.parse(await kubectl("get", "--raw", path)).paths)).toContain(`${BASE}/calls`)
    const swagger = JSON.parse(await kubectl("get", "--raw", "/openapi/v2"))
    expect(Object.keys(swagger.paths)).toContain(`${BASE}/calls`)
    expect(await kubectl("explain", `calls.${GROUP}`)).toContain("a kind of call, how often it was observed, and when")
    expect(await kubectl("explain", `explanations.${GROUP}.spec`)).toMatch(/the query: workload, request/)
  })
})

describe("a user", () => {
  const as = (user: string, ...args: string[]) => tryKubectl([...args, "--as", user])

  it("with `view` in the namespace sees its calls, and no single decision", async () => {
    expect(await as("vera", "get", `calls.${GROUP}`, ...APP)).toMatchObject({ code: 0 })
    const decisions = await as("vera", "get", `decisions.${GROUP}`, ...APP)
    expect(decisions).toMatchObject({
      code: 1,
      err: expect.stringContaining('User "vera" cannot list resource "decisions"'),
    })
    expect(await as("edith", "get", `decisions.${GROUP}`, ...APP)).toMatchObject({ code: 0 })
  })

  it("sees nothing of other namespaces, of all namespaces, or anonymously", async () => {
    for (const where of [["-n", "foo"], ["-A"]]) {
      const { code, err } = await as("edith", "get", `calls.${GROUP}`, ...where)
      expect({ code, err }).toEqual({
        code: 1,
        err: expect.stringContaining('User "edith" cannot list resource "calls"'),
      })
    }
    const raw = await as("system:anonymous", "get", "--raw", `${BASE}/namespaces/app/calls`)
    expect(raw).toMatchObject({ code: 1, err: expect.stringContaining("forbidden") })
  })

  it("with `edit` may ask hypothetical queries, with `view` not", async () => {
    // `create -f` would first look for a CRD, which needs permission to list CRDs.
    const asked = (user: string) =>
      tryKubectl(
        ["create", "--raw", `${BASE}/namespaces/app/callers`, "-f", "-", "--as", user],
        JSON.stringify({ spec: { workload: "web-v1" } }),
      )
    const answer = await asked("edith")
    expect(answer).toMatchObject({ code: 0, err: "" })
    expect(JSON.parse(answer.out).status.ways).toMatchObject([{ policy: "app/only-consumer", rule: 0 }])
    expect(await asked("vera")).toMatchObject({ code: 1, err: expect.stringContaining("forbidden") })
  })
})

describe("replicas of the control plane", () => {
  it("find each other and answer for each other's proxies, whichever is queried", async () => {
    const pods = await kubectl("get", "pods", ...ROOT, "-l", "app.kubernetes.io/name=merlond", "-o", "name")
    const replicas = pods.split("\n").map(pod => pod.replace("pod/", "lease.coordination.k8s.io/merlon-replica-"))
    expect(replicas.length).toBeGreaterThan(1)
    const leases = () => kubectl("get", "leases", ...ROOT, "-l", "merlon.dev/replica", "-o", "name")
    await expect.poll(async () => (await leases()).split("\n").sort(), WAIT).toEqual(replicas.sort())
    const running = await kubectl("get", "pods", ...APP, "-o", "jsonpath={.items[*].metadata.name}")
    const connected = async () => {
      const { items, partial } = JSON.parse(await kubectl("get", "--raw", `${BASE}/namespaces/app/proxies`))
      return { names: items.map(({ metadata }: { metadata: { name: string } }) => metadata.name).sort(), partial }
    }
    // The Service sends each query to any replica.
    for (let asked = 0; asked < 8; asked++) {
      await expect.poll(connected, WAIT).toEqual({ names: running.split(" ").sort(), partial: undefined })
    }
  })
})

describe("merlonctl on that cluster", () => {
  // Pods of earlier suites belong to a control plane that was uninstalled, and do not trust this one.
  beforeAll(async () => {
    const found = await kubectl("get", "namespaces", "-l", "merlon-injection", "-o", "name")
    const left = found.split("\n").filter(name => !/^$|\/(app|foo)$/.test(name))
    if (left.length > 0) await kubectl("delete", ...left)
  })

  it("reports the use of rules, the progress of mutual TLS, and a healthy mesh", async () => {
    expect(await merlonctl("rules", ...APP)).toMatch(/app\/only-consumer +spec\.rules\[0\] +ALLOW/)
    // The cluster is minutes old, so nothing has been observed for seven days.
    expect(await tryMerlonctl(["mtls", "ready", ...APP])).toMatchObject({
      code: 4,
      out: expect.stringMatching(/^app\/web-v1 .* unknown +observed only for \S+ of 7d$/m),
    })
    const check = async () => (await tryMerlonctl(["check"])).out
    await expect.poll(check, WAIT).toMatch(/ of \d+ are connected and up to date/)
    expect(await check()).not.toMatch(/no control plane answers|not connected/)
  })

  it("shows decisions, and explains a denial by the id in the caller's response", async () => {
    const denials = async () => {
      await kubectl("exec", "-n", "outside", "deploy/caller", "--", "node", "-e", DENIED)
      return merlonctl("decisions", ...APP, "--verdict", "deny", "-o", "json")
    }
    await expect.poll(denials, WAIT).toContain('"verdict":"deny"')
    const explained = async () => {
      const id = await kubectl("exec", "-n", "outside", "deploy/caller", "--", "node", "-e", DENIED)
      return (await tryMerlonctl(["explain", id, ...APP])).out
    }
    await expect.poll(explained, WAIT).toContain("app/only-consumer")
  })
})

const DENIED = `fetch("http://web.app/").then(answer => console.log(answer.headers.get("x-merlon-decision")))`
