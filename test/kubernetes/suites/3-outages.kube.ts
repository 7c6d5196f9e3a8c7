// SPDX-License-Identifier: Apache-2.0
// Outages under load: of xserver, the control plane's leader, the whole control plane, the kubelet. Callers are not
// affected, and enforced policies stay enforced.

import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { beforeAll, describe, expect, inject, it } from "vitest"
import {
  answering,
  apply,
  eventually,
  kubectl,
  namespace,
  ready,
  sample,
  status,
  tryKubectl,
  underLoad,
} from "../support/cluster.js"
import { startMesh, startWebAgain } from "../support/mesh.js"

const HTTPBIN = "http://httpbin.foo.svc.cluster.local:8000"
const WEB = "http://web.app.svc.cluster.local/"
const NS = ["-n", "merlon-system"]
const CALLER = ["-n", "outside", "deploy/caller"]
const WAIT = { timeout: 150_000, interval: 500 }
const CONTAINERS =
  "{.items[*].status.containerStatuses[*].containerID} {.items[*].status.initContainerStatuses[*].containerID}"

async function enforceStrict(): Promise<void> {
  await apply(sample("policies/peer-strict.yaml"))
  await kubectl("wait", "pa/default", "-n", "foo", "--for=condition=Enforced", "--timeout=150s")
  expect(await status(`${HTTPBIN}/get`)).toBe(0)
}

async function relax(): Promise<void> {
  await kubectl("delete", "pa", "default", "-n", "foo", "--ignore-not-found")
  await eventually(`${HTTPBIN}/get`, 200)
}

beforeAll(startMesh)

describe("an outage", () => {
  it("of the leader: another replica writes the status", async () => {
    const holder = await kubectl("get", "lease", "merlond", ...NS, "-o", "jsonpath={.spec.holderIdentity}")
    const pods = (
      await kubectl(
        "get",
        "pods",
        ...NS,
        "-l",
        "app.kubernetes.io/name=merlond",
        "-o",
        "jsonpath={.items[*].metadata.name}",
      )
    ).split(" ")
    const leader = pods.find(name => holder.startsWith(name)) ?? ""
    expect(pods).toHaveLength(2)
    await underLoad(() => kubectl("delete", "pod", leader, ...NS, "--grace-period=0", "--force"))
    await enforceStrict()
    await relax()
  })

  it("of the whole control plane: policies stay enforced, also by a restarted xserver", async () => {
    await enforceStrict()
    await kubectl("scale", "deploy/merlond", ...NS, "--replicas=0")
    try {
      await kubectl("wait", "pod", ...NS, "-l", "app.kubernetes.io/name=merlond", "--for=delete", "--timeout=150s")
      expect(await status(WEB)).toBe(200)
      const restarts = "jsonpath={.items[0].status.initContainerStatuses[1].restartCount}"
      const pod = ["get", "pod", "-n", "foo", "-l", "app=httpbin", "-o"]
      const before = await kubectl(...pod, restarts)
      await kubectl(
        "exec",
        "-n",
        "foo",
        "deploy/httpbin",
        "-c",
        "merlon-xserver",
        "--",
        "node",
        "-e",
        "process.kill(1)",
      )
      await expect.poll(() => kubectl(...pod, restarts), { timeout: 150_000 }).not.toBe(before)
      await kubectl("wait", "pod", "-n", "foo", "-l", "app=httpbin", "--for=condition=Ready", "--timeout=150s")
      expect(await status(`${HTTPBIN}/get`)).toBe(0)
    } finally {
      await kubectl("scale", "deploy/merlond", ...NS, "--replicas=2")
      await ready("deploy", "merlond", "merlon-system")
    }
    await relax()
  })

  it.skipIf(inject("kubelet") === "")("of the kubelet: policies are still enforced", async () => {
    const pid = inject("kubelet")
    const containers = ["get", "pod", "-n", "foo", "-l", "app=httpbin", "-o", `jsonpath=${CONTAINERS}`]
    const before = await kubectl(...containers)
    writeFileSync(`${pid}.down`, "")
    try {
      process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL")
      // `kubectl exec` does not work without the kubelet, so the test relies on the status.
      await apply(sample("policies/peer-strict.yaml"))
      await kubectl("wait", "pa/default", "-n", "foo", "--for=condition=Enforced", "--timeout=150s")
    } finally {
      rmSync(`${pid}.down`)
    }
    // The kubelet restarts, finds its running containers and does not start them again.
    await expect.poll(() => tryKubectl(["exec", ...CALLER, "--", "node", "-e", "0"]), WAIT).toMatchObject({ code: 0 })
    await eventually(`${HTTPBIN}/get`, 0)
    await relax()
    expect(await kubectl(...containers)).toBe(before)
  })

  it("does not occur when the control plane rolls: no request fails, and Pods can start meanwhile", async () => {
    await apply(namespace("busy", { "merlon-injection": "enabled" }))
    let made = 0
    await underLoad(async () => {
      await kubectl("rollout", "restart", "deploy/merlond", ...NS)
      const rolled = ready("deploy", "merlond", "merlon-system").then(() => true)
      for (let isOver = false; !isOver && made < 40; made++) {
        const name = `pod-${made}`
        await apply({
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name, namespace: "busy" },
          // No node takes this Pod: it only needs to be admitted.
          spec: { schedulerName: "nobody", containers: [answering()] },
        })
        isOver = await Promise.race([rolled, new Promise<boolean>(resolve => setTimeout(() => resolve(false), 100))])
      }
      await rolled
    })
    const injected = await kubectl(
      "get",
      "pods",
      "-n",
      "busy",
      "-o",
      "jsonpath={.items[*].metadata.annotations.merlon\\.dev/proxy}",
    )
    expect(injected.split(" ")).toHaveLength(made)
    await kubectl("delete", "namespace", "busy", "--wait=false")
  })

  it("does not occur when a workload rolls: requests in flight are completed before Pods end", async () => {
    await underLoad(startWebAgain)
  })
})
