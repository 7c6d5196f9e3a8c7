// SPDX-License-Identifier: Apache-2.0
// `merlond xclient` as users and scripts run it: a process, its output, its exit code.

import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { promisify } from "node:util"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { TestControlPlane } from "../../packages/xclient/src/testing/control-plane.js"
import { TestMesh, type TestServer } from "../../packages/xclient/src/testing/mesh.js"

const run = promisify(execFile)
const MERLOND = "packages/cli/bin/merlond.js"

const mesh = new TestMesh()
const control = new TestControlPlane(mesh)
let v1: TestServer
let v2: TestServer
let child: ChildProcess | undefined

beforeAll(async () => {
  await control.start()
  v1 = await mesh.server("v1")
  v2 = await mesh.server("v2")
  split(50, 50)
})
afterEach(() => {
  child?.kill("SIGKILL")
  child = undefined
})
afterAll(async () => {
  await control.close()
  await mesh.close()
})

function split(first: number, second: number): void {
  const routes = mesh.routes([
    { subset: "v1", weight: first, endpoints: [v1.endpoint] },
    { subset: "v2", weight: second, endpoints: [v2.endpoint] },
  ])
  control.set("web:80", routes)
}

const environment = (more: { readonly [name: string]: string } = {}) => ({
  PATH: process.env.PATH ?? "",
  MERLON_BOOTSTRAP: control.bootstrap,
  MERLON_XCLIENT_WAIT_TIMEOUT: "2m",
  ...more,
})

async function xclient(args: readonly string[], more: { readonly [name: string]: string } = {}) {
  try {
    const { stdout, stderr } = await run("node", [MERLOND, "xclient", ...args], { env: environment(more) })
    return { code: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string } // as execFile rejects
    return { code, stdout, stderr }
  }
}

describe("a check", () => {
  it("sends twenty requests and prints the split", async () => {
    expect(await xclient(["--host", "web", "--expect", "v1=50,v2=50"])).toEqual({
      code: 0,
      stdout: "v1 10 50%\nv2 10 50%\n",
      stderr: "",
    })
  })

  it("finds the only Service in the environment", async () => {
    const services = {
      WEB_SERVICE_HOST: "10.96.0.9",
      WEB_SERVICE_PORT: "80",
      KUBERNETES_SERVICE_HOST: "10.96.0.1",
      KUBERNETES_SERVICE_PORT: "443",
    }
    const { code, stdout } = await xclient(["--print-route"], services)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ host: "web.app.svc.cluster.local", port: 80 })
  })

  it("fails if the weights do not become the expected ones", async () => {
    const expected = ["--host", "web", "--expect", "v1=90,v2=10"]
    let seen = await xclient([...expected, "--wait-timeout", "2s", "10"])
    // On a busy machine the time may end before any weights have arrived.
    for (let seconds = 4; /route not found/.test(seen.stderr); seconds *= 2) {
      expect(seconds).toBeLessThan(120)
      seen = await xclient([...expected, "--wait-timeout", `${seconds}s`, "10"])
    }
    expect(seen.code).toBe(1)
    expect(seen.stderr).toBe("xclient: route weights map[v1:50 v2:50] did not match expected map[v1:90 v2:10]\n")
  })

  it.each([
    [["--host", "web", "--expect", "v1"], /NAME=WEIGHT/],
    [["--host", "web", "0"], /whole number/],
    [["--host", "web", "--path", "status"], /must begin with \//],
    [["--host", "web", "--header", "nothing"], /NAME: VALUE/],
    [["--host", "web", "--method", "CONNECT"], /must be a method/],
    [["--host", "web", "--request-timeout", "5"], /must be a length of time/],
    [["--print-route", "--watch"], /cannot be used with/],
    [[], /no host to call/],
    [["--listen", "0.0.0.0:0"], /--allow-remote/],
  ])("%j is rejected with a correction", async (args, message) => {
    const { code, stderr } = await xclient(args)
    expect(code).toBe(1)
    expect(stderr).toMatch(message)
  })

  it("reports how to configure its identity", async () => {
    const { code, stderr } = await xclient(["--host", "web"], { MERLON_BOOTSTRAP: "" })
    expect(code).toBe(1)
    expect(stderr).toMatch(/--bootstrap FILE/)
  })
})

it("--watch follows the route until it is interrupted, and exits with 0", async () => {
  const watching = start(["--host", "web", "--watch"])
  await expect.poll(() => watching.stdout(), POLL).toMatch(/v1=50 endpoints=1,v2=50 endpoints=1\n/)
  split(20, 80)
  await expect.poll(() => watching.stdout(), POLL).toMatch(/v1=20 endpoints=1,v2=80 endpoints=1\n/)
  split(50, 50)
  expect(await watching.stop()).toBe(0)
})

it("--listen gives any program with http_proxy routing and mutual TLS", { tags: ["needs/curl"] }, async () => {
  const proxy = start(["--listen", "127.0.0.1:0"])
  await expect.poll(() => proxy.stderr(), POLL).toMatch(/listening on 127.0.0.1:\d+/)
  const address = /listening on (\S+)/.exec(proxy.stderr())?.[1] ?? ""
  const curl = () =>
    run("curl", ["-sS", "--retry", "5", "http://web/a"], {
      env: { PATH: process.env.PATH ?? "", http_proxy: `http://${address}` },
    })
  const answers = [(await curl()).stdout, (await curl()).stdout]
  expect(answers.sort()).toEqual(["v1 GET /a", "v2 GET /a"])
  expect(v1.seen.at(-1)?.client).toContain("sa/consumer")
  expect(await proxy.stop()).toBe(0)
})

it.runIf(process.platform === "linux" && process.geteuid?.() === 0)(
  "--listen rejects calls of other users without --allow-other-users (needs root)",
  { tags: ["needs/curl"] },
  async () => {
    const codeFor = async (...flags: readonly string[]): Promise<string> => {
      const proxy = start(["--listen", "127.0.0.1:0", ...flags])
      await expect.poll(() => proxy.stderr(), POLL).toMatch(/listening on 127.0.0.1:\d+/)
      const address = /listening on (\S+)/.exec(proxy.stderr())?.[1] ?? ""
      const args = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-x", `http://${address}`, "http://web/a"]
      const { stdout } = await run("curl", args, { uid: 54_321, env: { PATH: process.env.PATH ?? "" } })
      expect(await proxy.stop()).toBe(0)
      return stdout
    }
    expect(await codeFor()).toBe("403")
    expect(await codeFor("--allow-other-users")).toBe("200")
  },
)

const POLL = { timeout: 90_000, interval: 200 }

function start(args: readonly string[]) {
  const process = spawn("node", [MERLOND, "xclient", ...args], {
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
  })
  child = process
  const text = { stdout: "", stderr: "" }
  process.stdout.on("data", chunk => {
    text.stdout += chunk
  })
  process.stderr.on("data", chunk => {
    text.stderr += chunk
  })
  return {
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    async stop(): Promise<number> {
      const ended = once(process, "exit")
      process.kill("SIGTERM")
      const [code] = await ended
      return code
    },
  }
}
