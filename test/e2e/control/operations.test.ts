// SPDX-License-Identifier: Apache-2.0
// The control plane from its operator's view: health, metrics, traces, a clean stop, and one clear sentence for every
// wrong setting.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../../../packages/cluster/src/store/testing/free-port.js"
import { json, jwks, startIssuer } from "../../../packages/control/src/keysets/testing/issuer.js"
import { reject } from "./support/bare-proxy.js"
import { WAIT } from "./support/cluster-api.js"
import { deny, Mesh, policy } from "./support/mesh.js"
import { Program } from "./support/program.js"

interface Span {
  readonly name: string
}
interface Traces {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[]
}

describe("a running control plane", () => {
  let mesh: Mesh
  const spans: string[] = []
  const collector = createServer((request, response) => {
    let body = ""
    request.on("data", chunk => {
      body += chunk
    })
    request.on("end", () => {
      if (request.url === "/v1/traces") {
        const traces: Traces = JSON.parse(body)
        for (const { scopeSpans } of traces.resourceSpans) {
          for (const scope of scopeSpans) spans.push(...scope.spans.map(({ name }) => name))
        }
      }
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })

  beforeAll(async () => {
    await new Promise<void>(resolve => collector.listen(0, "127.0.0.1", resolve))
    const { port } = collector.address() as AddressInfo // a TCP server has an AddressInfo
    mesh = await Mesh.start({ args: ["--traces", `http://127.0.0.1:${port}`] })
  })
  afterAll(async () => {
    await mesh.close()
    collector.closeAllConnections()
    collector.close()
  })

  it("reports its health and the metrics that operators watch", async () => {
    const issuer = await startIssuer(json(jwks("k1")))
    const proxy = await mesh.bareProxy("seen")
    const rule = { issuer: issuer.url, jwksUri: `${issuer.url}/keys` }
    await mesh.api.put(policy("RequestAuthentication", "jwt", { jwtRules: [rule] }))
    await mesh.api.put(deny("seen", "/seen"))
    await mesh.api.becomes("AuthorizationPolicy", "seen", "foo", "Enforced", "True")
    await mesh.api.becomes("RequestAuthentication", "jwt", "foo", "JwksReady", "True")
    proxy.behaviour = reject("no")
    await mesh.api.put(deny("seen", "/other"))
    await mesh.api.becomes("AuthorizationPolicy", "seen", "foo", "Enforced", "False")
    await issuer.close()

    expect(await mesh.control.health("/readyz")).toEqual({ status: 200, text: "ok\n" })
    expect((await mesh.control.health("/healthz")).status).toBe(200)
    const wanted = [
      'merlon_control_pushes_total{type="proxy"} [1-9]',
      'merlon_control_push_bytes_total{type="proxy"} [1-9]',
      'merlon_control_write_to_last_ack_seconds_bucket{le="60"} [1-9]',
      "merlon_control_connected_proxies 1$",
      'merlon_control_rejected_updates_total{type="proxy"} [1-9]',
      `merlon_control_key_set_age_seconds{issuer="${issuer.url}"} [0-9]`,
      'merlon_control_certificate_expiry_seconds{certificate="root",listener=""} [1-9]',
      'merlon_control_certificate_expiry_seconds{certificate="serving",listener="mesh"} [1-9]',
      'merlon_control_certificate_expiry_seconds{certificate="serving",listener="webhooks"} [1-9]',
      "merlon_control_leader 1$",
      "merlon_control_status_writes_total{.*} [1-9]",
      'merlon_control_admission_reviews_total{.*outcome="allowed"} [1-9]',
    ]
    const missing = async (): Promise<readonly string[]> => {
      const { text } = await mesh.control.health("/metrics")
      return wanted.filter(series => !new RegExp(`^${series}`, "m").test(text))
    }
    await expect.poll(missing, WAIT).toEqual([])
  })

  it("sends its traces to a collector", async () => {
    await mesh.bareProxy("traced")
    await mesh.api.put(deny("traced", "/traced", "traced"))
    await expect.poll(() => spans, WAIT).toContain("change")
    await expect.poll(() => spans, WAIT).toContain("fetch keys")
  })

  it("exits with 0 on a signal, and releases its proxies at once", async () => {
    const proxy = await mesh.bareProxy("last")
    mesh.control.program.signal("SIGTERM")
    expect(await mesh.control.program.exit()).toBe(0)
    await expect.poll(() => proxy.ends.length, WAIT).toBeGreaterThan(0)
    expect(mesh.control.program.stderr).not.toMatch(/"level":(50|60)/)
  })
})

/** Without the console, whose default port another test may use. */
const SERVE = ["serve", "--no-console"]

describe("a control plane that cannot start", () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "merlon-serve-"))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it.each([
    [
      "an unknown field",
      ["--config", "unknown.yaml"],
      /^merlond: .*unknown field `meshprot`; did you mean `meshPort`\?$/,
    ],
    [
      "a wrong value in the file",
      ["--config", "wrong.yaml"],
      /^merlond: .*meshPort: must be a whole number from 0 to 65535; it is `http`$/,
    ],
    ["a bad port", ["--mesh-port", "99999"], /^error: .*--mesh-port.* must be a whole number from 0 to 65535/],
    ["a missing kubeconfig", ["--kubeconfig", "missing"], /^merlond: .*`?\S*missing/],
    ["an invalid kubeconfig", ["--kubeconfig", "unknown.yaml"], /^merlond: .*unknown\.yaml/],
    ["a missing authority", ["--authority", "missing", "--embedded"], /^merlond: .*missing/],
    [
      "a path that cannot contain files",
      ["--data", "wrong.yaml"],
      /^merlond: cannot keep anything in `\S*wrong\.yaml`: .*; choose another place with `--data`$/,
    ],
    ["a missing bundle for issuers", ["--jwks-ca", "missing", "--embedded"], /^merlond: .*missing/],
  ])("fails with one sentence: %s", async (_, args, sentence) => {
    writeFileSync(join(folder, "unknown.yaml"), "meshprot: 15012\n")
    writeFileSync(join(folder, "wrong.yaml"), "meshPort: http\n")
    const files = args.map(arg => (/^(unknown|wrong|missing)/.test(arg) ? join(folder, arg) : arg))
    const ports = ["--api-port", "0", "--webhook-port", "0", "--health-port", "0"]
    const program = new Program([...SERVE, "--data", join(folder, "data"), "--log-level", "fatal", ...ports, ...files])
    expect(await program.exit()).toBe(1)
    expect(program.stdout).toBe("")
    const lines = program.stderr.trimEnd().split("\n")
    expect(lines[0]).toMatch(sentence)
    // Commander adds a line that points to the help.
    expect(lines.filter(line => line !== "" && !line.startsWith("("))).toHaveLength(1)
  })

  it.each(["--mesh-port", "--webhook-port", "--health-port", "--api-port"])(
    "fails with one sentence: %s names a port that is in use",
    async flag => {
      const taken = createServer()
      await new Promise<void>(resolve => taken.listen(0, "127.0.0.1", resolve))
      const { port } = taken.address() as AddressInfo // a TCP server has an AddressInfo
      const free = ["--mesh-port", "--webhook-port", "--health-port", "--api-port"].flatMap(other => [other, "0"])
      const data = ["--data", join(folder, "data"), "--log-level", "fatal"]
      const program = new Program([...SERVE, ...data, ...free, ...flag.split(" "), `${port}`])
      expect(await program.exit()).toBe(1)
      expect(program.stderr).toMatch(new RegExp(`^merlond: [^\\n]*already in use [^\\n]*${port}[^\\n]*\n$`))
      taken.close()
    },
  )

  it("fails with one sentence: another running process uses the data folder", async () => {
    const data = join(folder, "shared")
    const ports = ["--mesh-port", "--webhook-port", "--health-port", "--api-port"].flatMap(flag => [flag, "0"])
    const args = [...SERVE, "--data", data, "--log-level", "fatal", ...ports]
    const first = new Program(args)
    await first.printed(/^proxies/m)
    const second = new Program(args)
    expect(await second.exit()).toBe(1)
    expect(second.stderr).toMatch(/^merlond: .*\n$/)
    expect(second.stderr).toContain(data)
    first.signal("SIGINT")
    expect(await first.exit()).toBe(0)
  })

  it("reports on /readyz what is missing while the cluster is down, and exits with 0 on a signal", async () => {
    const [api, health] = [await freePort(), await freePort()]
    const kubeconfig = join(folder, "away.yaml")
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "away", cluster: { server: `http://127.0.0.1:${api}` } }],
        users: [{ name: "nobody", user: {} }],
        contexts: [{ name: "away", context: { cluster: "away", user: "nobody" } }],
        "current-context": "away",
      }),
    )
    const ports = ["--mesh-port", "0", "--webhook-port", "0", "--health-port", `${health}`]
    const program = new Program([...SERVE, "--kubeconfig", kubeconfig, ...ports])
    const ask = async (path: string): Promise<string> => {
      try {
        const response = await fetch(`http://127.0.0.1:${health}${path}`)
        return `${response.status} ${await response.text()}`
      } catch {
        return ""
      }
    }
    await expect.poll(() => ask("/readyz"), WAIT).toMatch(/^503 not ready: the cluster has not been read\n/)
    expect(await ask("/healthz")).toBe("200 ok\n")
    program.signal("SIGTERM")
    expect(await program.exit()).toBe(0)
  })
})
