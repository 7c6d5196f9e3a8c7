// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { LineReader } from "./line-reader.js"
import { type Answered, McpServer } from "./server.js"
import { tools } from "./tools.js"

const ANSWER: Answered = { code: 5, out: '{"result":"different"}', err: "note: one\n" }

/** A server and the replies that it has sent. */
function started(ask: (words: readonly string[], signal: AbortSignal) => Promise<Answered> = async () => ANSWER) {
  const sent: unknown[] = []
  const server = new McpServer({
    tools: tools({ cluster: undefined, mesh: [] }),
    version: "1.2.3",
    ask,
    send: message => sent.push(message),
  })
  const receive = (...messages: readonly unknown[]): void => {
    for (const message of messages)
      server.receive(Buffer.from(typeof message === "string" ? message : JSON.stringify(message)))
  }
  return { server, sent, receive }
}

const request = (id: unknown, method: unknown, params?: unknown) => ({ jsonrpc: "2.0", id, method, params })
const call = (id: unknown, name: unknown, args?: unknown) => request(id, "tools/call", { name, arguments: args })
const ANALYZE = { files: ["policies"] }

it.each([
  ["not JSON", "{", -32_700],
  ["nothing that is JSON-RPC", "[]", -32_600],
  ["a batch", [request(1, "ping")], -32_600],
  ["another version of JSON-RPC", { ...request(1, "ping"), jsonrpc: "1.0" }, -32_600],
  ["a method that is no string", request(1, 7), -32_600],
  ["an id that is an object", request({}, "ping"), -32_600],
  ["an id with a fraction", request(1.5, "ping"), -32_600],
  ["an unknown method", request(1, "resources/list"), -32_601],
  ["an unknown tool", call(1, "apply"), -32_602],
  ["a tool of another type", call(1, ["diff"]), -32_602],
  ["a call without parameters", request(1, "tools/call"), -32_602],
  ["the name of a field of objects", call(1, "__proto__"), -32_602],
])("answers %s with an error", async (_, message, code) => {
  const { server, sent, receive } = started()
  receive(message, request(2, "ping"))
  await server.finished()
  expect(sent).toContainEqual(expect.objectContaining({ error: expect.objectContaining({ code }) }))
  expect(sent).toContainEqual({ jsonrpc: "2.0", id: 2, result: {} })
})

it("answers bytes that are not UTF-8 with an error", () => {
  const { server, sent } = started()
  server.receive(Buffer.from([0x22, 0xff, 0x22]))
  expect(sent).toEqual([{ jsonrpc: "2.0", id: null, error: { code: -32_700, message: "the message is not in UTF-8" } }])
})

it("sends no reply to notifications, replies and empty lines", async () => {
  const { server, sent, receive } = started()
  receive({ jsonrpc: "2.0", method: "notifications/initialized" }, { jsonrpc: "2.0", id: 1, result: {} }, "  ")
  receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "unknown" } })
  await server.finished()
  expect(sent).toEqual([])
})

it.each([
  ["2024-11-05", "2024-11-05"],
  ["1999-01-01", "2025-06-18"],
  [7, "2025-06-18"],
])("agrees on a protocol with a client that speaks %s", async (protocolVersion, agreed) => {
  const { server, sent, receive } = started()
  receive(request(1, "initialize", { protocolVersion }))
  await server.finished()
  expect(sent).toMatchObject([{ id: 1, result: { protocolVersion: agreed, capabilities: { tools: {} } } }])
})

it("returns what the command printed, with its exit code and notes", async () => {
  const { server, sent, receive } = started()
  receive(call("a", "analyze", ANALYZE))
  await server.finished()
  const structuredContent = { exitCode: 5, notes: ["note: one"], answer: { result: "different" } }
  const content = [{ type: "text", text: JSON.stringify(structuredContent) }]
  expect(sent).toEqual([{ jsonrpc: "2.0", id: "a", result: { content, structuredContent } }])
})

it.each([
  ["wrong arguments", { files: 7 }, async () => ANSWER, "`files` must be"],
  ["a command that fails", ANALYZE, async () => ({ code: 1, out: "", err: "error[git]: no\n" }), "error[git]: no"],
  ["a command that prints nothing", ANALYZE, async () => ({ code: 0, out: "", err: "" }), "exit code 0"],
  ["an answer that is no JSON", ANALYZE, async () => ({ code: 0, out: "{", err: "" }), "JSON"],
  ["a thread that ends", ANALYZE, async () => Promise.reject(new Error("it ended")), "it ended"],
])("returns %s as an error that a model can read", async (_, args, ask, text) => {
  const { server, sent, receive } = started(ask)
  receive(call(1, "analyze", args))
  await server.finished()
  expect(sent).toMatchObject([{ id: 1, result: { isError: true, content: [{ text: expect.stringContaining(text) }] } }])
})

it("cancels a call and sends no reply for it", async () => {
  const signals: AbortSignal[] = []
  const { server, sent, receive } = started(
    (_, signal) =>
      new Promise((_resolve, reject) => {
        signals.push(signal)
        signal.addEventListener("abort", () => reject(new Error("cancelled")))
      }),
  )
  receive(call(1, "analyze", ANALYZE), call(1, "analyze", ANALYZE))
  receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } })
  await server.finished()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  expect(sent).toMatchObject([{ id: 1, error: { message: "a request with this `id` is running" } }])
})

it("bounds the number of waiting calls", async () => {
  const ends: (() => void)[] = []
  const { server, sent, receive } = started(() => new Promise(resolve => ends.push(() => resolve(ANSWER))))
  for (let id = 0; id <= 64; id += 1) receive(call(id, "analyze", ANALYZE))
  await expect.poll(() => sent).toMatchObject([{ id: 64, result: { isError: true } }])
  for (const end of ends) end()
  await server.finished()
  expect(sent).toHaveLength(65)
})

it("reads lines across chunks and drops one that is too long", () => {
  const seen: string[] = []
  const lines = new LineReader(
    4,
    line => seen.push(line.toString()),
    () => seen.push("too long"),
  )
  for (const chunk of ["ab", "c\nabcd\n\nab", "cde", "fgh", "ij\nx\n", "last"]) lines.add(Buffer.from(chunk))
  lines.end()
  expect(seen).toEqual(["abc", "abcd", "too long", "x", "last"])
})
