// SPDX-License-Identifier: Apache-2.0
// The local mesh as a user has it, from `up` to `down`, with crashes in between. One mesh serves all tests, in their
// order.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type MeshRecord, writeRecord } from "../../../packages/cli/src/local/record/mesh-record.js"
import { type Ended, Merlonctl, survivors } from "./support/merlonctl.js"
import { ownAndIngressPorts } from "./support/own-ports.js"

const POLL = { timeout: 90_000, interval: 500 }

const folder = mkdtempSync(join(tmpdir(), "local mesh-"))
const mesh = new Merlonctl(join(folder, "one"))
const second = new Merlonctl(join(folder, "two"))
/** Records of every mesh that ran here. */
const records: MeshRecord[] = []
let first: Ended

async function up(which: Merlonctl, ...args: readonly string[]): Promise<Ended> {
  const ended = await which.run("up", "--detach", ...args)
  expect(ended.stderr).toContain("workloads ready")
  expect(ended.code).toBe(0)
  records.push(which.record)
  return ended
}

/** The status, or that the connection was closed without one. */
async function call(url: string): Promise<number | "closed"> {
  return fetch(url).then(
    async response => {
      await response.arrayBuffer()
      return response.status
    },
    () => "closed" as const,
  )
}

/** Makes the next control plane start without being the leader, and without a published root. */
async function leadElsewhereWithoutRoots(): Promise<void> {
  const lease = join(folder, "lease.json")
  const taken = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "merlond", namespace: "merlon-system" },
    spec: { holderIdentity: "another machine's", leaseDurationSeconds: 15 },
  }
  writeFileSync(lease, JSON.stringify(taken))
  expect(await mesh.run("apply", "--force-conflicts", "-f", lease)).toMatchObject({ code: 0 })
  const { health } = mesh.record.ports
  const leads = async () =>
    (await (await fetch(`http://127.0.0.1:${health}/metrics`)).text()).match(/_leader (\d)$/m)?.[1]
  await expect.poll(leads, POLL).toBe("0")
  for (const namespace of ["merlon-system", "foo", "app"]) {
    expect((await mesh.run("delete", "configmap", "merlon-ca-root-cert", "-n", namespace)).code).toBe(0)
  }
}

beforeAll(async () => {
  first = await up(mesh, ...(await ownAndIngressPorts()))
})

afterAll(async () => {
  for (const which of [mesh, second]) await which.run("down")
  rmSync(folder, { recursive: true, force: true })
})

it("prints what runs where and what to try", () => {
  const { workloads, ingressPorts } = mesh.record
  for (const { name, place, serves } of workloads) {
    expect(first.stdout).toMatch(new RegExp(`${name} +${serves ? `${place.address}:15080` : "-"} `))
  }
  expect(first.stdout).toContain(`export KUBECONFIG='${mesh.data}/kubeconfig'`)
  expect(first.stdout).toContain(`curl http://127.0.0.1:${ingressPorts[0]?.port}/headers`)
})

it("reports that it is healthy", async () => {
  const { code, stdout } = await mesh.run("status", "-o", "json")
  const { phase, controlPlane, workloads, processes } = JSON.parse(stdout)
  expect({ code, phase, ready: controlPlane.ready }).toEqual({ code: 0, phase: "ready", ready: true })
  expect(workloads).toHaveLength(4)
  for (const workload of workloads) {
    expect(workload).toMatchObject({ ready: true, policies: 0, revision: expect.any(Number) })
    expect(Date.parse(workload.certificateExpires)).toBeGreaterThan(Date.now())
  }
  expect(processes.map(({ running }: { running: boolean }) => running)).toEqual(new Array(9).fill(true))
})

it("answers callers from outside, with all replicas in turn", async () => {
  expect(await call(mesh.exposed("httpbin.foo", "/get"))).toBe(200)
  const greetings = []
  for (let count = 0; count < 2; count++) {
    const response = await fetch(mesh.exposed("web.app", "/"), { headers: { connection: "close" } })
    greetings.push(await response.text())
  }
  expect(greetings.sort()).toEqual(["hello from web v1\n", "hello from web v2\n"])
})

it("runs programs as a workload, with its credentials", async () => {
  const route = await mesh.run("exec", "consumer", "-n", "app", "--", "xclient", "--host", "web", "--print-route")
  expect(route.code).toBe(0)
  const { host, destinations } = JSON.parse(route.stdout)
  expect(host).toBe("web.app.svc.cluster.local")
  expect(destinations[0].endpoints.map(({ port }: { port: number }) => port)).toEqual([15_080, 15_080])

  const asked = "echo $POD_NAME $SERVICE_ACCOUNT $MERLON_DATA $MERLON_XCLIENT_REQUEST_TIMEOUT; exit 7"
  const shell = await mesh.start(["exec", "consumer", "--", "sh", "-c", asked], {
    MERLON_XCLIENT_REQUEST_TIMEOUT: "9s",
  }).ended
  expect(shell).toMatchObject({ code: 7, stdout: "consumer-1 consumer 9s\n" })
})

it("shows the logs of its processes", async () => {
  await call(mesh.exposed("httpbin.foo", "/anything/seen"))
  await expect
    .poll(async () => (await mesh.run("logs", "httpbin", "--tail", "5")).stdout, POLL)
    .toContain('"path":"/anything/seen"')
  expect((await mesh.run("logs", "web-v2", "-c", "app")).stdout).toMatch(/^web v2 listens on/)
  expect((await mesh.run("logs", "control-plane")).stdout).toContain("export KUBECONFIG=")
  expect(await mesh.run("logs", "nobody")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("httpbin-1 in foo"),
  })
})

it("does not start twice on the same data", async () => {
  for (const args of [["up"], ["up", "--detach"]]) {
    const { code, stderr } = await mesh.run(...args)
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `error[already-running]: already running (pid ${mesh.record.supervisor.pid}); \`merlonctl status\` shows it, \`merlonctl down\` stops it\n`,
    })
  }
})

it("runs beside another mesh, on other ports, and prints them", async () => {
  // As if the other one had used these ports before.
  writeRecord(second.data, {
    ...mesh.record,
    phase: "stopped",
    processes: [],
    mesh: "dubbo",
    domain: "dubbo.apache.org",
  })
  const { stderr } = await up(second)
  expect(stderr).toContain(`port ${mesh.record.ports.api} is taken: the API is at ${second.record.ports.api}`)
  expect(await call(second.exposed("httpbin.foo", "/get"))).toBe(200)
  const namespace = await second.run("get", "namespace", "foo", "-o", "json", "--domain", "dubbo.apache.org")
  expect(JSON.parse(namespace.stdout).metadata.labels).toMatchObject({ "dubbo-injection": "enabled" })

  const { record } = second
  expect(await second.run("down")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("foo.httpbin-1.xserver"),
  })
  expect(survivors(record)).toEqual([])
  expect(await call(mesh.exposed("httpbin.foo", "/get"))).toBe(200)
})

it("accepts policies", async () => {
  const applied = await mesh.run("apply", "-f", "samples/policies/peer-strict.yaml")
  expect(applied.code).toBe(0)
  await expect.poll(() => call(mesh.exposed("httpbin.foo", "/get")), POLL).toBe("closed")
  expect(await call(mesh.exposed("web.app", "/"))).toBe(200)
})

it("restarts a process that dies", async () => {
  const name = "foo.httpbin-1.xserver"
  const before = mesh.record.processes.find(process => process.name === name)
  process.kill(before?.pid ?? 0, "SIGKILL")
  await expect
    .poll(() => mesh.record.processes.find(process => process.name === name), POLL)
    .toMatchObject({ restarts: 1 })
  await expect.poll(async () => (await mesh.run("status")).code, POLL).toBe(0)
  expect((await mesh.run("logs", "supervisor")).stdout).toContain(`${name} ended unexpectedly (SIGKILL)`)
})

it("leaves no process behind when its supervisor is killed, and comes back with its state", async () => {
  const { record } = mesh
  await leadElsewhereWithoutRoots()
  process.kill(record.supervisor.pid, "SIGKILL")
  await expect.poll(() => survivors(record), POLL).toEqual([])
  expect(await mesh.run("status")).toMatchObject({ code: 1, stdout: expect.stringContaining("crashed") })

  await up(mesh)
  expect(mesh.record.ports).toEqual(record.ports)
  expect(mesh.record.workloads).toEqual(record.workloads)
  expect(await call(mesh.exposed("httpbin.foo", "/get"))).toBe("closed")
  expect(await call(mesh.exposed("web.app", "/"))).toBe(200)
})

it("lets no workload join while the control plane does not lead and has no root", async () => {
  // The start above was such a case: it completed only after the deleted root was published again.
  expect(await mesh.run("get", "configmap", "merlon-ca-root-cert", "-n", "merlon-system")).toMatchObject({ code: 0 })
  expect(await call(mesh.exposed("web.app", "/"))).toBe(200)
})

it("recovers when everything is killed, enforces from the first request, and stops at Ctrl-C", async () => {
  const { record } = mesh
  // The supervisor is suspended meanwhile: without it the others would exit, some before they are killed.
  process.kill(record.supervisor.pid, "SIGSTOP")
  for (const { pid } of [...record.processes, record.supervisor]) process.kill(pid, "SIGKILL")
  const { child, ended, output } = mesh.start(["up"])
  // The proxy itself, which can be reached long before the ingress port is open.
  const { place } = record.workloads.find(({ name }) => name === "httpbin-1") ?? {}
  const answers = new Set<number | "closed">()
  await expect
    .poll(async () => {
      answers.add(await call(`http://${place?.address}:${place?.xserver}/get`))
      return output()
    }, POLL)
    .toContain("Ctrl-C stops everything.")
  records.push(mesh.record)
  answers.add(await call(mesh.exposed("httpbin.foo", "/get")))
  expect([...answers]).toEqual(["closed"])
  expect(await call(mesh.exposed("web.app", "/"))).toBe(200)
  const running = mesh.record

  child.kill("SIGINT")
  expect((await ended).code).toBe(0)
  expect(output()).toContain("stopped 9 processes")
  expect(survivors(running)).toEqual([])
})

it("stops permanently, also if asked twice", async () => {
  expect(await mesh.run("down")).toMatchObject({ code: 0, stdout: `no local mesh is running in ${mesh.data}\n` })
  expect(await mesh.run("status")).toMatchObject({ code: 1, stderr: expect.stringContaining("merlonctl up") })
  expect(records.flatMap(survivors)).toEqual([])
})
