// SPDX-License-Identifier: Apache-2.0
// An unmodified program calls continuously, with captured calls, while the mesh switches to STRICT, servers roll, scale
// and crash, and the control plane crashes. No request fails that its proxy could have retried.

import { readdirSync, readFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { answering, apply, kubectl, namespace, ready, tryKubectl } from "../support/cluster.js"
import { keepAliveLoad } from "../support/keep-alive-load.js"
import { startMesh } from "../support/mesh.js"

const SPACE = "load"
const IN_SPACE = ["-n", SPACE]
const ROOT = ["-n", "merlon-system"]
const REPLICAS = 3

const SERVER = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "server", namespace: SPACE },
  spec: {
    replicas: REPLICAS,
    selector: { matchLabels: { app: "server" } },
    template: {
      metadata: { labels: { app: "server" } },
      spec: {
        terminationGracePeriodSeconds: 30,
        containers: [
          answering({
            readinessProbe: { httpGet: { path: "/get", port: "http" }, periodSeconds: 1 },
            // docs/kubernetes.md requires this of applications that stop listening immediately.
            lifecycle: { preStop: { exec: { command: ["node", "-e", "setTimeout(() => undefined, 5000)"] } } },
          }),
        ],
      },
    },
  },
}
const STRICT = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "PeerAuthentication",
  metadata: { name: "default", namespace: "merlon-system" },
  spec: { mtls: { mode: "STRICT" } },
}

beforeAll(async () => {
  await startMesh()
  await apply(
    namespace(SPACE, { "merlon-injection": "enabled" }),
    SERVER,
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "server", namespace: SPACE },
      spec: { selector: { app: "server" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "caller", namespace: SPACE, labels: { app: "caller" } },
      spec: { terminationGracePeriodSeconds: 2, containers: [answering()] },
    },
  )
  await ready("deploy", "server", SPACE)
  await kubectl("wait", "pod/caller", ...IN_SPACE, "--for=condition=Ready", "--timeout=150s")
})
afterAll(async () => {
  await tryKubectl(["delete", "peerauthentications.security.merlon.dev/default", ...ROOT])
  await kubectl("delete", "namespace", SPACE, "--wait=false")
})

const servers = async (): Promise<readonly string[]> =>
  (await kubectl("get", "pods", ...IN_SPACE, "-l", "app=server", "-o", "name")).split("\n")
const serversAre = (count: number) =>
  expect.poll(async () => (await servers()).length, { timeout: 150_000, message: `${count} servers` }).toBe(count)

/** A request that an application may have processed is not retried, and neither is one whose response has begun. */
const isLost = (failure: string): boolean =>
  ["POST 502 cut-off", "POST 503 reset"].includes(failure) || failure.endsWith(" broken off")

async function losses(meanwhile: () => Promise<unknown>): Promise<readonly string[]> {
  const { answered, failed } = await keepAliveLoad(`http://server.${SPACE}/anything`, meanwhile, [
    ...IN_SPACE,
    "caller",
    "-c",
    "app",
  ])
  expect(answered).toBeGreaterThan(0)
  return failed
}

describe("no request is lost", () => {
  it("when the mesh switches from PERMISSIVE to STRICT", async () => {
    const failed = await losses(async () => {
      await apply(STRICT)
      await kubectl("wait", "pa/default", ...ROOT, "--for=condition=Enforced", "--timeout=150s")
    })
    expect(failed).toEqual([])
  })

  it("when the server rolls", async () => {
    const before = await servers()
    const failed = await losses(async () => {
      await kubectl("rollout", "restart", "deploy/server", ...IN_SPACE)
      await ready("deploy", "server", SPACE)
      await kubectl("wait", ...before, ...IN_SPACE, "--for=delete", "--timeout=150s")
    })
    expect(failed).toEqual([])
  })

  it("when the server is scaled down and up", async () => {
    const failed = await losses(async () => {
      await kubectl("scale", "deploy/server", ...IN_SPACE, "--replicas=1")
      await serversAre(1)
      await kubectl("scale", "deploy/server", ...IN_SPACE, `--replicas=${REPLICAS}`)
      await ready("deploy", "server", SPACE)
    })
    expect(failed).toEqual([])
  })
})

/** Kills processes of a Pod without notice, as a crash does. Needs the process namespace of the node. */
async function kill(pod: string, place: readonly string[], isMeant: (command: string) => boolean): Promise<void> {
  const uid = await kubectl("get", pod, ...place, "-o", "jsonpath={.metadata.uid}")
  const read = (process: string, file: string): string => {
    try {
      return readFileSync(`/proc/${process}/${file}`, "utf8")
    } catch {
      return "" // the process has just ended
    }
  }
  const found = readdirSync("/proc").filter(
    entry =>
      /^\d+$/.test(entry) &&
      read(entry, "cgroup").includes(uid) &&
      isMeant(read(entry, "cmdline").replaceAll("\0", " ")),
  )
  expect(found.length, `processes of ${pod}`).toBeGreaterThan(0)
  for (const process_ of found) process.kill(Number(process_), "SIGKILL")
}

const restartsOf = (pod: string, place: readonly string[]) =>
  kubectl("get", pod, ...place, "-o", "jsonpath={.status..restartCount}")

/** Waits until the kubelet has noticed the crash and restarted everything. */
async function killed(pod: string, place: readonly string[], isMeant: (command: string) => boolean): Promise<void> {
  const before = await restartsOf(pod, place)
  await kill(pod, place, isMeant)
  const again = { timeout: 150_000, message: `${pod} to start again` }
  await expect.poll(() => restartsOf(pod, place), again).not.toBe(before)
  await kubectl("wait", pod, ...place, "--for=condition=Ready", "--timeout=150s")
}

describe.skipIf(inject("kubelet") === "")("loses no request that could be retried", () => {
  const isProxy = (command: string) => command.includes(" proxy --bootstrap")

  it.each<[string, (command: string) => boolean]>([
    ["the application of a server", command => command.includes("httpbin.js")],
    ["the proxy of a server", isProxy],
    ["a whole Pod of a server", () => true],
  ])("when %s is killed", async (_, isMeant) => {
    const [first = ""] = await servers()
    const failed = await losses(() => killed(first, IN_SPACE, isMeant))
    expect(failed.filter(failure => !isLost(failure))).toEqual([])
  })

  it("when every control plane is killed", async () => {
    const label = ["-l", "app.kubernetes.io/name=merlond"]
    const replicas = (await kubectl("get", "pods", ...ROOT, ...label, "-o", "name")).split("\n")
    const failed = await losses(async () => {
      await Promise.all(replicas.map(replica => killed(replica, ROOT, () => true)))
      await ready("deploy", "merlond", "merlon-system")
    })
    expect(failed).toEqual([])
  })
})
