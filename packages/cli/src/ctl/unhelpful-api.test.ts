// SPDX-License-Identifier: Apache-2.0
// Commands against an API that does not respond as one: each ends with a message and its exit code, and none reports an
// empty list if it could not read it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Typed, typed as typedWords } from "./testing/typed.js"

const folder = mkdtempSync(join(tmpdir(), "unhelpful-api-"))
const kubeconfig = join(folder, "kubeconfig")
const policy = join(folder, "policy.yaml")
let answer: (response: ServerResponse) => void
let server: Server

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume()
    answer(response)
  })
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo // it listens on a port
  const named = (name: string, what: object): object => ({ name: "x", [name]: what })
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      "current-context": "x",
      contexts: [named("context", { cluster: "x", user: "x" })],
      clusters: [named("cluster", { server: `http://127.0.0.1:${port}` })],
      users: [named("user", { token: "t" })],
    }),
  )
  const apiVersion = "security.merlon.dev/v1alpha3"
  const metadata = { name: "default", namespace: "foo" }
  writeFileSync(policy, JSON.stringify({ apiVersion, kind: "PeerAuthentication", metadata, spec: {} }))
})

afterAll(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
})

const typed = (words: string): Promise<Typed> => typedWords([...words.split(" "), "--kubeconfig", kubeconfig])

const says = (status: number, type: string, body: string) => (response: ServerResponse) =>
  void response.writeHead(status, { "content-type": type }).end(body)
const json = "application/json"
const PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>here</body></html>"

const COMMANDS = [
  "get policies -A",
  "get policies -A -o yaml",
  "get peerauthentication -w",
  "delete peerauthentication --all",
  "delete peerauthentication default",
  `apply -f ${policy}`,
  "patch peerauthentication default -p {}",
  "wait peerauthentication/default",
  "wait peerauthentication/default --for delete",
  "what-can foo/web",
  "who-can foo/web",
  "analyze",
  `diff -f ${policy}`,
  "decisions",
  "decisions --follow",
  "describe workload foo/web",
  "rules",
  "proxy status",
  "workload list",
  "workload remove web",
  "uninstall",
  "upgrade",
]

describe.each([
  ["answers JSON of another program", says(200, json, '{"error":"login_required"}'), 3, /is that the right address\?/],
  [
    "answers with a page",
    says(200, "text/html", PAGE),
    3,
    /is that the right address\?|answered 200 with a page \(Sign/,
  ],
  ["stands behind a gateway that lost it", says(502, "text/html", PAGE), 3, /answered 502 with a page \(Sign in\)/],
  [
    "rejects with a good status",
    says(200, json, '{"kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":"you may not"}'),
    1,
    /you may not/,
  ],
])("if the server %s", (_, how, code, words) => {
  it.each(COMMANDS)("%s", async command => {
    answer = how
    const result = await typed(command)
    expect(result.err).toMatch(/^error\[[a-z-]+\]: /)
    expect(result).toMatchObject({ code, out: "" })
    expect(result.err).toMatch(words)
  })
})

it.each(["proxy status", "rules", "mtls ready", "decisions"])(
  "`%s` says that nothing was found in one namespace, not in the mesh",
  async command => {
    answer = says(200, json, '{"kind":"ObservedList","metadata":{},"items":[]}')
    expect((await typed(`${command} -n shop`)).err).toBe(
      "note: only namespace `shop` was queried; add `-A` for all namespaces\n",
    )
    expect((await typed(`${command} -A`)).err).toBe("")
  },
)

it("does not report an object of an unknown kind as deleted", async () => {
  const message = "the server could not find the requested resource"
  answer = says(
    404,
    json,
    JSON.stringify({ kind: "Status", status: "Failure", code: 404, reason: "NotFound", message }),
  )
  const result = await typed("wait peerauthentication/default --for delete")
  expect(result).toMatchObject({ code: 1, out: "", err: expect.stringContaining("serves no") })
})

it.each(["FOO BAR", "", "../kube-system", "a.b"])("`%s` is no namespace with nothing in it", async namespace => {
  answer = says(200, json, '{"kind":"PodList","metadata":{},"items":[]}')
  const result = await typedWords(["get", "policies", "--kubeconfig", kubeconfig, "-n", namespace])
  expect(result).toMatchObject({ code: 2, err: expect.stringContaining("must be the name of a namespace") })
})
