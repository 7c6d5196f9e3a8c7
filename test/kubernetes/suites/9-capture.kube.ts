// SPDX-License-Identifier: Apache-2.0
// Which calls out of a Pod are captured, by its annotations, its namespace's label and the mesh's setting, and that no application
// starts before its proxy takes them. A captured call arrives under STRICT; any other gets no answer there.

import { existsSync } from "node:fs"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import {
  answering,
  apiServerAddress,
  apply,
  install,
  kubectl,
  namespace,
  tryKubectl,
  tryMerlonctl,
} from "../support/cluster.js"
import { startMesh } from "../support/mesh.js"

const SPACE = "capture"
const TARGET = `http://target.${SPACE}:8000/get`
const PROXY = "outbound.merlon.dev/proxy"

const pod = (name: string, annotations: object = {}, spec: object = {}, space = SPACE) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: space, labels: { app: name }, annotations },
  spec: { terminationGracePeriodSeconds: 2, containers: [answering()], ...spec },
})
const waitReady = (name: string) =>
  kubectl("wait", `pod/${name}`, "-n", SPACE, "--for=condition=Ready", "--timeout=150s")

const FETCH = `fetch("${TARGET}", { signal: AbortSignal.timeout(15000) })
  .then(answer => console.log(answer.status), () => console.log(0))`
/** The status of a call to the target; 0 where no answer comes. */
async function called(name: string): Promise<number> {
  await waitReady(name)
  return Number(await kubectl("exec", "-n", SPACE, name, "-c", "app", "--", "node", "-e", FETCH))
}

beforeAll(async () => {
  await startMesh()
  await apply(
    namespace(SPACE, { "merlon-injection": "enabled" }),
    pod("target"),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "target", namespace: SPACE },
      spec: { selector: { app: "target" }, ports: [{ name: "http", port: 8000, targetPort: 8080 }] },
    },
    {
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "PeerAuthentication",
      metadata: { name: "default", namespace: SPACE },
      spec: { mtls: { mode: "STRICT" } },
    },
  )
  await waitReady("target")
  await kubectl("wait", "pa/default", "-n", SPACE, "--for=condition=Ready", "--timeout=150s")
})
afterAll(() => install())

it("captures the calls of all Pods, and of none that opts out", async () => {
  await apply(pod("silent"), pod("opting-out", { [PROXY]: "false" }))
  expect(await called("silent")).toBe(200)
  expect(await called("opting-out")).toBe(0)
})

it("follows the namespace's label, and a Pod that says otherwise", async () => {
  const label = (value: string) => kubectl("label", "namespace", SPACE, `merlon-outbound${value}`)
  const rules = (name: string) => {
    const args = '{.spec.initContainers[?(@.name=="merlon-init")].args}'
    const made = ["create", "--dry-run=server", "-o", `jsonpath=${args}`, "-f", "-"]
    return tryKubectl(made, JSON.stringify(pod(name)))
  }
  await label("=off")
  const turned = { timeout: 60_000, message: "the label to reach every replica" }
  await expect.poll(async () => (await rules("any")).out, turned).not.toContain("--outbound")
  await apply(pod("by-namespace"), pod("asking", { [PROXY]: "capture" }))
  expect(await called("by-namespace")).toBe(0)
  expect(await called("asking")).toBe(200)
  await label("-")
})

it("leaves excluded ports alone, and what is not included", async () => {
  const exclude = { [PROXY]: "capture", "outbound.merlon.dev/exclude-ports": "8000" }
  const include = { [PROXY]: "capture", "outbound.merlon.dev/include-cidrs": "192.0.2.0/24" }
  await apply(pod("excluding", exclude), pod("including", include))
  expect(await called("excluding")).toBe(0)
  expect(await called("including")).toBe(0)
})

it("rejects destinations outside the cluster in a namespace with REGISTRY_ONLY, as long as it has the label", async () => {
  const script = `const [host] = process.argv.slice(1)
    fetch("http://" + host + "/", { signal: AbortSignal.timeout(15000) })
      .then(async answer => console.log(answer.status, await answer.text()), () => console.log(0))`
  const call = (host: string) => kubectl("exec", "-n", SPACE, "asking", "-c", "app", "--", "node", "-e", script, host)
  const outside = await apiServerAddress()
  const policy = (value: string) => kubectl("label", "namespace", SPACE, `merlon-outbound-policy${value}`)
  await policy("=REGISTRY_ONLY")
  await expect.poll(() => call(outside), { timeout: 60_000 }).toMatch(/^502 .*REGISTRY_ONLY/)
  expect(await call(outside)).toContain(outside)
  expect(await called("asking")).toBe(200)
  // It speaks TLS alone, and says so to a program that does not.
  expect(await call("kubernetes.default:443")).toMatch(/^400 /)
  await policy("-")
  await expect.poll(() => call(outside), { timeout: 60_000 }).toMatch(/^400 /)
})

const POSTGRES = "/usr/lib/postgresql/15/bin"
const PROGRAMS = ["/usr/bin/curl", "/usr/bin/python3", `${POSTGRES}/postgres`, `${POSTGRES}/psql`]
// The node has the files of this machine, so its Pods can run the programs of this machine.
const canRun = inject("kubelet") !== "" && PROGRAMS.every(program => existsSync(program))

it.skipIf(!canRun)(
  "carries calls of curl, Python and psql unchanged (needs curl, python3 and PostgreSQL 15)",
  async () => {
    const mounted = (name: string, container: object, ports: object[] = []) => ({
      ...pod(
        name,
        {},
        {
          containers: [
            answering({
              ports,
              securityContext: { runAsUser: 65_534 },
              volumeMounts: [
                { name: "usr", mountPath: "/usr", readOnly: true },
                { name: "passwd", mountPath: "/etc/passwd", readOnly: true },
                { name: "data", mountPath: "/data" },
              ],
              ...container,
            }),
          ],
          volumes: [
            { name: "usr", hostPath: { path: "/usr" } },
            { name: "passwd", hostPath: { path: "/etc/passwd" } },
            { name: "data", emptyDir: {} },
          ],
        },
      ),
    })
    const start = `${POSTGRES}/initdb -D /data/db -U postgres -A trust && exec ${POSTGRES}/postgres -D /data/db -k /data -h '*'`
    const ask = [`${POSTGRES}/psql`, "-h", `database.${SPACE}`, "-U", "postgres", "-tAc"]
    await apply(
      mounted("database", { command: ["sh", "-c", start] }, [{ name: "postgres", containerPort: 5432 }]),
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "database", namespace: SPACE },
        spec: { selector: { app: "database" }, ports: [{ name: "postgres", port: 5432 }] },
      },
      mounted("programs", { command: ["sleep", "infinity"] }),
    )
    await waitReady("database")
    await waitReady("programs")
    const run = (...command: string[]) => tryKubectl(["exec", "-n", SPACE, "programs", "-c", "app", "--", ...command])
    const python = `import urllib.request; print(urllib.request.urlopen("${TARGET}", timeout=15).status)`
    expect(await run("curl", "-s", "-m", "15", "-o", "/dev/null", "-w", "%{http_code}", TARGET)).toMatchObject({
      out: "200",
    })
    expect(await run("/usr/bin/python3", "-c", python)).toMatchObject({ out: "200\n" })
    const answers = { timeout: 60_000, message: "the database to answer" }
    await expect.poll(async () => (await run(...ask, "select 6 * 7")).out, answers).toBe("42\n")
    // Much in one answer, and much in one question.
    expect(
      await run(...ask, "select length(string_agg(repeat('x', 1000), '')) from generate_series(1, 5000)"),
    ).toMatchObject({
      out: "5000000\n",
    })
    expect((await run(...ask, "select repeat('x', 2000000)")).out.length).toBe(2_000_001)
  },
)

it("starts the application after a proxy that is a plain sidecar", async () => {
  const flags = ["-f", "-", "--sidecar", "plain", "--image", inject("image")]
  // The first thing that this application does is to call.
  const container = answering({ command: ["node", "-e", `${FETCH}; setInterval(() => 0, 1e6)`], ports: [] })
  const { out } = await tryMerlonctl(
    ["inject", ...flags],
    JSON.stringify(pod("plain", {}, { containers: [container] })),
  )
  await apply(out)
  await waitReady("plain")
  const log = () => kubectl("logs", "plain", "-n", SPACE, "-c", "app")
  await expect.poll(log, { timeout: 60_000, interval: 300 }).toBe("200")
})

it("warns in a confined namespace, where calls are not captured", async () => {
  const restricted = { "merlon-injection": "enabled", "pod-security.kubernetes.io/enforce": "restricted" }
  await apply(namespace("capture-confined", restricted))
  const document = JSON.stringify(pod("confined", {}, {}, "capture-confined"))
  const { code, err } = await tryKubectl(["create", "--dry-run=server", "-f", "-"], document)
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining("calls out of this Pod are not captured") })
})

it("captures only the calls of Pods that ask for it where the mesh's setting is off", async () => {
  const before = await kubectl("get", "pods", "-n", "merlon-system", "-o", "name")
  await install("--set", "outbound=off")
  // A replica that terminates still injects by the setting from before.
  await kubectl("wait", ...before.split("\n"), "-n", "merlon-system", "--for=delete", "--timeout=150s")
  await apply(pod("by-mesh"), pod("opted-in", { [PROXY]: "capture" }))
  expect(await called("by-mesh")).toBe(0)
  expect(await called("opted-in")).toBe(200)
  // A Pod keeps the rules that it was created with.
  expect(await called("silent")).toBe(200)
})
