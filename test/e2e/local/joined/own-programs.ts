// SPDX-License-Identifier: Apache-2.0
// A user's own program in the local mesh: started, called, changed, broken, stopped. All tests use the same program, in
// order.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { freePort } from "../../../../packages/cluster/src/store/testing/free-port.js"
import { type Ended, type Merlonctl, survivors } from "../support/merlonctl.js"

const POLL = { timeout: 90_000, interval: 500 }
const folder = mkdtempSync(join(tmpdir(), "own-workload-"))
const program = join(folder, "shop.mjs")
const sick = join(folder, "sick")
let exposed: number

/** Responds with its name; is unhealthy while a file exists. */
const SHOP = `
import { existsSync } from "node:fs"
import { createServer } from "node:http"
createServer((asked, reply) => {
  if (asked.url === "/up") reply.writeHead(existsSync(process.env.POD_NAME + ".sick") ? 503 : 200).end()
  else reply.end(process.env.VERSION_NAME + " " + process.env.POD_NAME)
}).listen(process.env.PORT, process.env.HOST, () => console.log("listening"))
`

function runShop(mesh: Merlonctl, name: string, version: string, ...more: readonly string[]): Promise<Ended> {
  return mesh.run(
    ...["run", name, "-n", "demo", "--port", "8080", "--label", `app=shop,version=${version}`],
    ...["--env", `VERSION_NAME=${version}`, "--probe", "http:/up", ...more],
    ...["--", "sh", "-c", `cd ${sick} && exec node ${program}`],
  )
}

/** The distinct responses to a number of calls from outside, each with its status. */
async function answers(count: number): Promise<ReadonlySet<string>> {
  const seen = new Set<string>()
  for (let call = 0; call < count; call++) {
    const response = await fetch(`http://127.0.0.1:${exposed}/`, { headers: { connection: "close" } }).catch(
      () => undefined,
    )
    seen.add(response === undefined ? "closed" : `${response.status} ${await response.text()}`)
  }
  return seen
}

/** `start`: the arguments with which the mesh was started. */
export function ownPrograms(mesh: Merlonctl, start: () => readonly string[]): void {
  beforeAll(async () => {
    mkdirSync(sick)
    writeFileSync(program, SHOP)
    exposed = await freePort()
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("runs behind proxies, with replicas and an ingress port, as status, logs and exec show", async () => {
    const { code, stdout, stderr } = await runShop(mesh, "shop", "v1", "--replicas", "2", "--expose", String(exposed))
    expect(code, stderr).toBe(0)
    expect(stdout).toMatch(/workload\/shop-1 ready, its proxy at 127\.\d+\.0\.\d+:15080\nworkload\/shop-2 ready/)
    await expect.poll(() => answers(8), POLL).toEqual(new Set(["200 v1 shop-1", "200 v1 shop-2"]))
    expect((await mesh.run("status")).stdout).toMatch(/demo +shop-2 +yes/)
    expect((await mesh.run("logs", "shop-1", "-c", "app")).stdout).toBe("listening\n")
    expect((await mesh.run("exec", "shop-2", "--", "sh", "-c", "echo $POD_NAME")).stdout).toBe("shop-2\n")
  })

  it("runs a new version beside the old one, behind the same Service", async () => {
    expect((await runShop(mesh, "shop-v2", "v2")).code).toBe(0)
    await expect.poll(() => answers(12), POLL).toEqual(new Set(["200 v1 shop-1", "200 v1 shop-2", "200 v2 shop-v2-1"]))
  })

  it("is not called while its application is unhealthy, and is called again afterwards", async () => {
    writeFileSync(join(sick, "shop-2.sick"), "")
    await expect.poll(() => answers(12), POLL).toEqual(new Set(["200 v1 shop-1", "200 v2 shop-v2-1"]))
    const ready = async () =>
      (await mesh.run("get", "pod", "shop-2", "-n", "demo", "-o", "json")).stdout.match(
        /"(ProxyConnected|ApplicationNotReady)"/,
      )?.[1]
    await expect.poll(ready, POLL).toBe("ApplicationNotReady")
    expect((await mesh.run("status")).stdout).toContain("its application answers /up with 503")
    rmSync(join(sick, "shop-2.sick"))
    await expect.poll(ready, POLL).toBe("ProxyConnected")
    await expect.poll(() => answers(12), POLL).toContain("200 v1 shop-2")
  })

  it("reports why it does not run, and leaves nothing behind", async () => {
    const { code, stderr } = await mesh.run(
      "run",
      "bad",
      "-n",
      "demo",
      "--port",
      "8081",
      "--",
      "sh",
      "-c",
      "echo no luck; exit 3",
    )
    expect([code, stderr]).toEqual([1, expect.stringContaining("no luck")])
    await expect.poll(async () => (await mesh.run("get", "pod", "bad-1", "-n", "demo")).code, POLL).toBe(1)
  })

  it("is changed by another `run`, and stopped", async () => {
    expect((await runShop(mesh, "shop", "v3", "--expose", String(exposed))).code).toBe(0)
    await expect.poll(() => answers(8), POLL).toEqual(new Set(["200 v3 shop-1", "200 v2 shop-v2-1"]))
    expect((await mesh.run("stop", "shop-v2", "-n", "demo")).stdout).toBe("stopped shop-v2\n")
    await expect.poll(() => answers(4), POLL).toEqual(new Set(["200 v3 shop-1"]))
    const { code, stderr } = await mesh.run("stop", "shop-v2", "-n", "demo")
    expect([code, stderr]).toEqual([1, expect.stringContaining("there are shop in demo")])
  })

  it("is there again after a restart, and a file can describe it", async () => {
    const record = mesh.record
    await mesh.run("down")
    expect(survivors(record)).toEqual([])
    expect((await mesh.run(...start())).code).toBe(0)
    await expect.poll(() => answers(2), POLL).toEqual(new Set(["200 v3 shop-1"]))
    const file = join(folder, "mesh.yaml")
    const policy = {
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "AuthorizationPolicy",
      metadata: { name: "closed", namespace: "demo" },
      spec: {},
    }
    writeFileSync(join(folder, "closed.json"), JSON.stringify(policy))
    const other = {
      name: "other",
      namespace: "demo",
      port: 8080,
      command: ["node", program],
      labels: { app: "shop" },
      env: { VERSION_NAME: "v4" },
      expose: exposed,
    }
    writeFileSync(file, JSON.stringify({ workloads: [other], apply: ["closed.json"] }))
    const { code, stdout, stderr } = await mesh.run("up", "-f", file)
    expect(code, stderr).toBe(0)
    expect([stdout, stderr]).toEqual([
      expect.stringContaining("closed created"),
      expect.stringContaining("demo/other ready"),
    ])
    await expect.poll(() => answers(2), POLL).toEqual(new Set(["403 RBAC: access denied"]))
    expect(readFileSync(join(mesh.data, "runs.json"), "utf8")).not.toContain('"shop-v2"')
  })
}
