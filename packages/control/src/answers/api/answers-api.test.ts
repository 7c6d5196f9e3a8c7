// SPDX-License-Identifier: Apache-2.0
// To a caller that no API server authenticated, the answers API serves discovery and nothing else.

import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { meshNames } from "@merlon/policy/mesh"
import { afterAll, beforeAll, expect, it } from "vitest"
import { AnswersApi } from "./answers-api.js"
import { ANSWERS } from "./resources.js"

let server: Server
beforeAll(async () => {
  const api = new AnswersApi({
    client: undefined as never, // anonymous users are not looked up
    names: meshNames(),
    frontProxy: () => undefined,
    seen: undefined as never, // anonymous users see no observations
    proved: undefined as never, // and no proofs
    history: undefined as never, // and no history
    log: message => expect.unreachable(message),
  })
  server = createServer((asked, reply) => void api.answer(asked, reply))
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
})
afterAll(() => new Promise(resolve => server.close(resolve)))

const ask = (path: string, method = "GET"): Promise<Response> =>
  fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { method }) // it listens on a port

// The API server requests the last path before it marks the API available, and cannot delete a namespace until then.
it.each([
  "/apis",
  "/apis/answers.merlon.dev",
  "/apis/answers.merlon.dev/v1alpha1",
  "/apis/answers.merlon.dev/v1alpha1/",
])("serves discovery to every caller: %s", async path => {
  const answer = await ask(path)
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({ kind: expect.stringMatching(/^API/) })
})

interface Described {
  readonly paths: { readonly [path: string]: { readonly serverRelativeURL?: string } }
  readonly definitions?: object
  readonly components?: { readonly schemas: { readonly [name: string]: object } }
}

it("describes itself to every caller, in both versions, with every kind", async () => {
  const read = async (path: string) => (await (await ask(path)).json()) as Described
  const [entry] = Object.values((await read("/openapi/v3")).paths)
  const { paths, components } = await read(entry?.serverRelativeURL ?? "")
  const swagger = await read("/openapi/v2")
  expect(Object.keys(swagger.paths)).toEqual(Object.keys(paths))
  expect(swagger.definitions).toEqual(components?.schemas)
  for (const { name, kind, verbs } of ANSWERS) {
    const path = `/apis/answers.merlon.dev/v1alpha1/namespaces/{namespace}/${name}`
    expect(Object.keys(paths[path] ?? {})).toContain(verbs.includes("create") ? "post" : "get")
    expect(`${path}/{name}` in paths).toBe(verbs.includes("get"))
    expect(components?.schemas[`dev.merlon.answers.v1alpha1.${kind}`]).toMatchObject({
      "x-kubernetes-group-version-kind": [{ group: "answers.merlon.dev", version: "v1alpha1", kind }],
    })
  }
})

it.each([
  ["GET", "/apis/answers.merlon.dev/v1alpha1/calls"],
  ["GET", "/apis/answers.merlon.dev/v1alpha1/namespaces/foo/decisions"],
  ["GET", "/apis/answers.merlon.dev/v1alpha2"],
  ["GET", "/apis/other.example/v1"],
  ["GET", "/openapi/v4"],
  ["POST", "/apis/answers.merlon.dev/v1alpha1/explanations"],
  ["POST", "/apis/answers.merlon.dev/v1alpha1"],
])("rejects an anonymous query: %s %s", async (method, path) => {
  const answer = await ask(path, method)
  expect(answer.status).toBe(401)
  expect(await answer.json()).toMatchObject({
    kind: "Status",
    message: "send this request through the API server of the cluster",
  })
})
