// SPDX-License-Identifier: Apache-2.0
// The built `merlonctl mcp`, with the client of the protocol's own SDK and with misbehaving clients.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { afterAll, beforeAll, expect, it } from "vitest"

const SERVER = { command: process.execPath, args: ["packages/cli/bin/merlonctl.js", "mcp", "--root", "samples"] }
const HTTPBIN = { files: ["answers/next"], workloads: "manifests/httpbin.yaml" }

/** The client's default is a minute, which a busy machine may exceed. */
const PATIENT = { timeout: 240_000 }

const client = new Client({ name: "test", version: "1.0.0" })
beforeAll(() => client.connect(new StdioClientTransport(SERVER)))
afterAll(() => client.close())

const asked = async (name: string, args: Record<string, unknown>) => {
  const { structuredContent, content, isError } = await client.callTool({ name, arguments: args }, undefined, PATIENT)
  return { answer: structuredContent, text: JSON.stringify(content), isError }
}

it("lists tools with schemas that the SDK accepts", async () => {
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(["diff", "who-can", "what-can", "analyze", "explain", "test"])
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true)
})

it("answers each query like the command", async () => {
  const change = { from: "answers/now", to: "answers/next", workloads: "manifests/httpbin.yaml" }
  expect((await asked("diff", change)).answer).toMatchObject({ exitCode: 5, answer: { result: "different" } })
  const equal = { ...change, to: "answers/now" }
  expect((await asked("diff", equal)).answer).toMatchObject({ exitCode: 0, answer: { result: "equal" } })
  const who = await asked("who-can", { workload: "foo/httpbin", paths: ["/admin/*"], ...HTTPBIN })
  expect(who.answer).toMatchObject({ answer: { result: "proved", ways: [{ policy: "foo/admins", rule: 0 }, {}] } })
  const what = await asked("what-can", { identity: "ns/app/sa/consumer", ...HTTPBIN })
  expect(what.answer).toMatchObject({ answer: { result: "proved" } })
  const found = await asked("analyze", { files: ["answers/dead.yaml"], workloads: "manifests/httpbin.yaml" })
  expect(found.answer).toMatchObject({ exitCode: 5, answer: { findings: [{ code: "dead-rule" }] } })
  const explained = await asked("explain", {
    workload: "foo/httpbin",
    files: ["answers/next", "manifests/httpbin.yaml"],
  })
  expect(explained.answer).toMatchObject({ exitCode: 5, answer: { verdict: "deny" } })
  expect((await asked("test", { tests: ["policies"] })).answer).toMatchObject({ exitCode: 0 })
})

it("reports an error in a query, and continues", async () => {
  expect(await asked("analyze", { files: ["../package.json"] })).toMatchObject({
    isError: true,
    text: expect.stringContaining("error[outside-roots]"),
  })
  expect(await asked("analyze", { files: "policies" })).toMatchObject({ isError: true })
  expect(await asked("who-can", { workload: "foo/nobody", ...HTTPBIN })).toMatchObject({
    isError: true,
    text: expect.stringContaining("error[not-found]"),
  })
  await expect(client.callTool({ name: "apply", arguments: {} })).rejects.toThrow("there is no tool `apply`")
  await client.ping()
})

it("ends a cancelled query", async () => {
  const controller = new AbortController()
  const question = client.callTool({ name: "analyze", arguments: { files: ["policies"] } }, undefined, {
    signal: controller.signal,
  })
  controller.abort()
  await expect(question).rejects.toThrow()
  await client.ping()
})

it("answers lines that are no messages, and prints nothing else", async () => {
  const server = spawn(SERVER.command, SERVER.args, { stdio: ["pipe", "pipe", "pipe"] })
  let out = ""
  server.stdout.on("data", chunk => {
    out += chunk
  })
  server.stdin.write('{"jsonrpc"\n\n[]\n"\u0000"\n')
  server.stdin.write(`"${"x".repeat(5 << 20)}"\n`)
  server.stdin.end(
    '{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"test","arguments":{"tests":["policies"]}}}',
  )
  const [code] = await once(server, "close")
  const replies = out
    .trimEnd()
    .split("\n")
    .map(line => JSON.parse(line))
  expect(code).toBe(0)
  expect(replies.map(({ id, error }) => [id, error?.code])).toEqual([
    [null, -32_700],
    [null, -32_600],
    [null, -32_700],
    [null, -32_700],
    ["last", undefined],
  ])
})
