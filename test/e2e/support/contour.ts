// SPDX-License-Identifier: Apache-2.0
// A real Contour with its Envoy. Contour reads its resources from our own API server, which allows endpoints on the
// loopback interface.

import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { freePort } from "../../../packages/cluster/src/store/testing/free-port.js"
import { eventually } from "../../../packages/wire/src/testing/eventually.js"
import { envoy, findProgram } from "../../runner/programs.js"
import type { GatewayRig } from "./gateway-rig.js"

/** `resources`: those of the documentation. `configuration`: Contour's file. Returns the port of the gateway. */
export async function startContour(
  rig: GatewayRig,
  resources: string,
  configuration: string,
  authorizer: number,
): Promise<number> {
  const folder = rig.folder("contour")
  const put = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const [api, xds, gateway, metrics, health, debug, stats] = await Promise.all(Array.from({ length: 7 }, freePort))
  const data = join(folder, "data")
  rig.run(process.execPath, ["packages/cli/bin/merlond.js", "cluster", "--data", data, "--port", String(api)])
  const kubeconfig = join(data, "kubeconfig")
  const kubectl = (...args: string[]): string =>
    execFileSync("kubectl", ["--kubeconfig", kubeconfig, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    })
  await eventually(
    async () => {
      try {
        return kubectl("get", "--raw", "/readyz") === "ok"
      } catch {
        return false
      }
    },
    { what: "the API is served" },
  )
  kubectl("create", "--filename", crds())
  for (const namespace of ["projectcontour", "edge"]) kubectl("create", "namespace", namespace)
  kubectl("create", "--filename", put("services.json", services(rig.application.port, authorizer)))
  kubectl("create", "--filename", put("resources.yaml", resources))

  const local = (what: string, port: number | undefined) => [
    `--${what}-address`,
    "127.0.0.1",
    `--${what}-port`,
    String(port),
  ]
  rig.run("contour", [
    ...["serve", "--insecure", "--disable-leader-election", "--kubeconfig", kubeconfig],
    ...["--config-path", put("contour.yaml", configuration)],
    ...local("xds", xds),
    ...local("envoy-service-http", gateway),
    ...local("http", metrics),
    ...local("health", health),
    ...local("debug-http", debug),
    ...local("stats", stats),
  ])
  const bootstrap = join(folder, "bootstrap.json")
  const admin = ["--admin-address", join(folder, "admin.sock")]
  execFileSync("contour", ["bootstrap", ...local("xds", xds), ...admin, bootstrap], { stdio: "ignore" })
  const node = ["--service-cluster", "contour", "--service-node", "envoy"]
  rig.run(envoy() ?? "envoy", ["--config-path", bootstrap, ...node, "--disable-hot-restart", "--concurrency", "1"])
  await eventually(
    async () => {
      const asked = { method: "GET", path: "/public/a", headers: {} }
      const { status } = await rig.ask(gateway ?? 0, asked).catch(() => ({ status: 0 }))
      return status === 200
    },
    { what: "Contour's Envoy has its routes" },
  )
  return gateway ?? 0
}

/** Contour does not install its resource definitions itself. */
function crds(): string {
  return join(dirname(findProgram("contour") ?? ""), "contour-crds.yaml")
}

function services(application: number, authorizer: number): string {
  const items = [
    { name: "application", port: 8080, target: application },
    { name: "merlon-authorizer", port: 9000, target: authorizer },
  ].flatMap(({ name, port, target }) => [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: "edge" },
      spec: { ports: [{ name: "http", port, protocol: "TCP", targetPort: target }] },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: `${name}-1`, namespace: "edge", labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: [{ name: "http", port: target, protocol: "TCP" }],
      endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
    },
  ])
  return JSON.stringify({ apiVersion: "v1", kind: "List", items })
}
