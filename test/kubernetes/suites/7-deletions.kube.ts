// SPDX-License-Identifier: Apache-2.0
// Deletion: of policies that an invariant needs, of namespaces with their contents, and of both without a running
// control plane.

import { beforeAll, describe, expect, it } from "vitest"
import { answering, apply, kubectl, namespace, ready, sample, tryKubectl } from "../support/cluster.js"
import { startMesh } from "../support/mesh.js"

const APP = ["-n", "app"]
const ROOT = ["-n", "merlon-system"]
const API = "v1alpha1.answers.merlon.dev"
const WAIT = { timeout: 150_000, interval: 500 }
/** A namespace is removed when its contents are removed; kubectl waits for that. */
const ENDS = ["--wait", "--timeout=150s"]

const inSpace = (space: string) => [
  namespace(space, { "merlon-injection": "enabled" }),
  ...["only-consumer", "invariant"].map(file =>
    sample(`policies/${file}.yaml`).replaceAll("namespace: app", `namespace: ${space}`),
  ),
]
/** The subject of the invariant: a Pod of the mesh that no node runs. */
const WAITING = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "leaving", labels: { app: "web" } },
  spec: { nodeSelector: { nowhere: "" }, containers: [answering()] },
}
const names = (...args: string[]) => kubectl("get", ...args, "-o", "name")

beforeAll(startMesh)

describe("the deletion of a policy that an invariant needs", () => {
  beforeAll(async () => {
    await apply(sample("policies/only-consumer.yaml"), sample("policies/invariant.yaml"))
    await kubectl("wait", "policyinvariant/web", ...APP, "--for=condition=Holds", "--timeout=150s")
  })

  it.each([
    ["by name", ["ap/only-consumer"]],
    ["of all of its kind", ["ap", "--all"]],
    ["by a label", ["ap", "-l", "!nothing"]],
  ])("is rejected with a request that would be allowed: %s", async (_, what) => {
    const { code, err } = await tryKubectl(["delete", ...what, ...APP])
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("writes from outside the namespace") })
    expect(err).toMatch(/merlonctl|xclient|POST|PUT|DELETE/)
    expect(await names("ap", ...APP)).toContain("only-consumer")
  })

  it("succeeds once the invariant is deleted", async () => {
    await kubectl("delete", "policyinvariants", "--all", ...APP)
    await kubectl("delete", "ap", "--all", ...APP)
    expect(await names("ap,policyinvariants", ...APP)).toBe("")
  })
})

describe("a namespace with invariants and policies", () => {
  it("is deleted with all of them", async () => {
    const [space = {}, ...documents] = inSpace("leaving")
    await apply(space, WAITING, ...documents)
    await kubectl("wait", "policyinvariant/web", "-n", "leaving", "--for=condition=Holds", "--timeout=150s")
    expect(await tryKubectl(["delete", "ap/only-consumer", "-n", "leaving"])).toMatchObject({ code: 1 })
    await kubectl("delete", "namespace", "leaving", ...ENDS)
  })
})

async function startAgain(): Promise<void> {
  await kubectl("scale", "deploy/merlond", ...ROOT, "--replicas=2")
  await ready("deploy", "merlond", "merlon-system")
}

describe("without a running control plane", () => {
  let registration = ""
  beforeAll(async () => {
    await apply(...inSpace("held"), namespace("bare"))
    await kubectl("wait", `apiservice/${API}`, "--for=condition=Available", "--timeout=150s")
    const { metadata, spec, ...type } = JSON.parse(await kubectl("get", "apiservice", API, "-o", "json"))
    registration = JSON.stringify({ ...type, metadata: { name: metadata.name }, spec, status: undefined })
    await kubectl("scale", "deploy/merlond", ...ROOT, "--replicas=0")
    await kubectl("wait", "pod", ...ROOT, "-l", "app.kubernetes.io/name=merlond", "--for=delete", "--timeout=150s")
    return startAgain
  })

  it("the answers API is unregistered by the last replica", async () => {
    expect(await tryKubectl(["get", "apiservice", API])).toMatchObject({
      code: 1,
      err: expect.stringContaining("NotFound"),
    })
  })

  it("no policy is deleted unchecked, and users see why", async () => {
    const { code, err } = await tryKubectl(["delete", "ap/only-consumer", "-n", "held"])
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining('failed calling webhook "validation.merlon.dev"'),
    })
    expect(await names("ap", "-n", "held")).toContain("only-consumer")
  })

  it("namespaces are deleted, with policies in them and without", async () => {
    await kubectl("delete", "namespace", "bare", ...ENDS)
    await kubectl("delete", "namespace", "held", ...ENDS)
  })

  it("registrations left by a killed replica block namespaces with a message, until they are deleted", async () => {
    await apply(registration, namespace("waiting"))
    await kubectl("wait", `apiservice/${API}`, "--for=condition=Available=False", "--timeout=150s")
    await kubectl("delete", "namespace", "waiting", "--wait=false")
    const failure = 'jsonpath={.status.conditions[?(@.type=="NamespaceDeletionDiscoveryFailure")].message}'
    await expect
      .poll(() => kubectl("get", "namespace", "waiting", "-o", failure), WAIT)
      .toContain("answers.merlon.dev/v1alpha1")
    // As docs/operations/troubleshooting.md advises.
    await kubectl("delete", "apiservice", API)
    await kubectl("wait", "namespace/waiting", "--for=delete", "--timeout=300s")
  })

  it("the API is registered again by a new replica", async () => {
    await startAgain()
    const available = 'jsonpath={.status.conditions[?(@.type=="Available")].status}'
    await expect
      .poll(async () => (await tryKubectl(["get", "apiservice", API, "-o", available])).out, WAIT)
      .toBe("True")
  })
})
