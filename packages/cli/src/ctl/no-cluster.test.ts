// SPDX-License-Identifier: Apache-2.0
// What users see without a mesh, with a stopped mesh, and with a mistyped decision id: what happened and what to type.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { typed } from "./testing/typed.js"

const folder = mkdtempSync(join(tmpdir(), "no-cluster-"))
afterAll(() => rmSync(folder, { recursive: true }))
beforeEach(() => vi.stubEnv("KUBECONFIG", ""))
afterEach(() => vi.unstubAllEnvs())

/** A kubeconfig for this server, in the data folder of a local mesh. */
function dataFolder(name: string, server: string): string {
  const data = join(folder, name)
  mkdirSync(data)
  const config = {
    "current-context": "merlon",
    contexts: [{ name: "merlon", context: { cluster: "merlon", user: "admin" } }],
    clusters: [{ name: "merlon", cluster: { server } }],
    users: [{ name: "admin", user: { token: "t" } }],
  }
  writeFileSync(join(data, "kubeconfig"), JSON.stringify(config))
  return data
}

const listening = async (answer: Parameters<typeof createServer>[1]) => {
  const server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo // it listens on a port
  return { url: `http://127.0.0.1:${port}`, close: () => new Promise(resolve => server.close(resolve)) }
}

it("names `merlonctl up` if MERLON_DATA contains no mesh", async () => {
  const data = join(folder, "empty")
  vi.stubEnv("MERLON_DATA", data)
  for (const command of [["get", "pods"], ["decisions"], ["check"]]) {
    expect(await typed(command)).toMatchObject({
      code: 3,
      err: `error[no-api]: no local mesh in MERLON_DATA=\`${data}\`; start one with \`merlonctl up\`, or unset MERLON_DATA to use another cluster\n`,
    })
  }
})

it("names `merlonctl up` if the local mesh is stopped", async () => {
  const { url, close } = await listening(() => {})
  await close()
  const data = dataFolder("stopped", url)
  vi.stubEnv("MERLON_DATA", data)
  for (const command of [["get", "pods"], ["decisions"], ["check"]]) {
    const { code, err } = await typed(command)
    expect(code).toBe(3)
    expect(err).toContain(`the local mesh in \`${data}\` is not running; start it with \`merlonctl up\``)
  }
  const { err } = await typed(["get", "pods", "--kubeconfig", join(data, "kubeconfig")])
  expect(err).toContain("no answer from the API server")
})

it("reports that a client certificate is not PEM, and not that the server is unavailable", async () => {
  const path = join(folder, "no-pem")
  const user = { "client-certificate-data": "QUJD", "client-key-data": "QUJD" }
  const config = {
    ...{ "current-context": "c", contexts: [{ name: "c", context: { cluster: "c", user: "u" } }] },
    clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:9" } }],
    users: [{ name: "u", user }],
  }
  writeFileSync(path, JSON.stringify(config))
  const { code, err } = await typed(["get", "pods", "--kubeconfig", path])
  expect(code).toBe(3)
  expect(err).toMatch(
    /^error\[api-no-credentials\]: a certificate or key for `https:\/\/127.0.0.1:9` cannot be used: .*PEM/,
  )
})

describe("a decision id", () => {
  it.each([["0123456789abcdef012"], ["0123456789abcdef01234"], ["0123456789ABCDEF"]])(
    "`%s` of the wrong length is explained",
    async id => {
      const { code, err } = await typed(["explain", id])
      expect(code).toBe(2)
      expect(err).toContain(`\`${id}\` is not a decision id: an id has 20 hexadecimal digits, this has ${id.length}`)
      expect(err).toContain("`merlonctl decisions -A`")
    },
  )

  it("is explained if the word is neither id nor workload", async () => {
    const { code, err } = await typed(["explain", "httpbin"])
    expect(code).toBe(2)
    expect(err).toMatch(
      /`httpbin` names no workload and no decision; pass a workload as `NAMESPACE\/NAME`.*x-merlon-decision/,
    )
  })

  it("is reported as not found if no proxy has it, in any case of letters", async () => {
    const message = "no connected proxy has the decision `0123456789abcdef0123` among its last thousand"
    const paths: string[] = []
    const { url, close } = await listening((request, response) => {
      paths.push(request.url ?? "")
      const isDecision = request.url?.includes("/decisions/") === true
      response.writeHead(isDecision ? 404 : 200, { "content-type": "application/json", connection: "close" })
      response.end(
        JSON.stringify(
          isDecision
            ? { kind: "Status", status: "Failure", code: 404, reason: "NotFound", message }
            : { kind: "APIGroupList", groups: [] },
        ),
      )
    })
    vi.stubEnv("MERLON_DATA", dataFolder("running", url))
    const { code, err } = await typed(["explain", "0123456789ABCDEF0123"])
    await close()
    expect(paths.at(-1)).toMatch(/\/decisions\/0123456789abcdef0123$/)
    expect(err).toBe(`error[not-found]: ${message}; list recent ids with \`merlonctl decisions -A\`\n`)
    expect(code).toBe(1)
  })
})
