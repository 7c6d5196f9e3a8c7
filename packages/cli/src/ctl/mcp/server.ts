// SPDX-License-Identifier: Apache-2.0
// A Model Context Protocol server (modelcontextprotocol.io, revision 2025-06-18) that offers tools. It turns one JSON-RPC
// 2.0 message into at most one reply; the functions that answer a query and send replies are passed in.

import { isUtf8 } from "node:buffer"
import { messageOf } from "@merlon/xds/runtime"
import { EXIT } from "../exit.js"
import { fieldsOf, textOf } from "../foreign.js"
import { commandLine, listedTool, type Tool } from "./tool.js"

/** The output of a command, and its exit code. */
export interface Answered {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface ServerOptions {
  readonly tools: readonly Tool[]
  readonly version: string
  /** Runs a command of merlonctl; `signal` ends it early. */
  readonly ask: (words: readonly string[], signal: AbortSignal) => Promise<Answered>
  readonly send: (message: object) => void
}

/** Versions that a client may request. The first is offered to a client that requests another one. */
const PROTOCOL_VERSIONS = ["2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05"]

const RPC = { parse: -32_700, request: -32_600, method: -32_601, params: -32_602 } as const

/** The limit of calls that wait or run. More are rejected at once. */
const MOST_CALLS = 64

class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly id: Id | null = null,
  ) {
    super(message)
  }
}

type Id = string | number

export class McpServer {
  readonly #options: ServerOptions
  readonly #running = new Map<Id, AbortController>()
  readonly #settled = new Set<Promise<void>>()

  constructor(options: ServerOptions) {
    this.#options = options
  }

  /** Handles one line of standard input. */
  receive(line: Buffer): void {
    try {
      if (!isBlank(line)) this.#take(parsed(line))
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      this.#fail(error.id, error.code, error.message)
    }
  }

  tooLong(most: number): void {
    this.#fail(null, RPC.parse, `the message is longer than ${most} bytes`)
  }

  /** Resolves once every call has its reply. */
  async finished(): Promise<void> {
    while (this.#settled.size > 0) await Promise.all(this.#settled)
  }

  #take(message: unknown): void {
    const { jsonrpc, id, method, params } = fieldsOf(message)
    const known = idOf(id)
    if (jsonrpc !== "2.0") throw new RpcError(RPC.request, 'one message with `"jsonrpc": "2.0"` is expected', known)
    // A reply, which this server ignores because it sends no requests.
    if (method === undefined && id !== undefined) return
    if (typeof method !== "string") throw new RpcError(RPC.request, "`method` must be a string", known)
    if (id === undefined) this.#notice(method, params)
    else if (known === null) throw new RpcError(RPC.request, "`id` must be a string or a whole number")
    else if (this.#running.has(known)) throw new RpcError(RPC.request, "a request with this `id` is running", known)
    else this.#start(known, method, params)
  }

  #start(id: Id, method: string, params: unknown): void {
    const answer = this.#answer(id, method, params).catch((error: unknown) => {
      this.#fail(id, error instanceof RpcError ? error.code : RPC.request, messageOf(error))
    })
    this.#settled.add(answer)
    void answer.finally(() => this.#settled.delete(answer))
  }

  #notice(method: string, params: unknown): void {
    if (method !== "notifications/cancelled") return
    const id = idOf(fieldsOf(params).requestId)
    if (id !== null) this.#running.get(id)?.abort()
  }

  async #answer(id: Id, method: string, params: unknown): Promise<void> {
    const result = await this.#result(id, method, params)
    if (result !== undefined) this.#options.send({ jsonrpc: "2.0", id, result })
  }

  async #result(id: Id, method: string, params: unknown): Promise<object | undefined> {
    switch (method) {
      case "initialize":
        return this.#initialized(textOf(fieldsOf(params).protocolVersion))
      case "ping":
        return {}
      case "tools/list":
        return { tools: this.#options.tools.map(listedTool) }
      case "tools/call":
        return this.#call(id, params)
      default:
        throw new RpcError(RPC.method, `there is no method \`${method.slice(0, 100)}\``)
    }
  }

  #initialized(asked: string | undefined): object {
    return {
      protocolVersion: PROTOCOL_VERSIONS.find(version => version === asked) ?? PROTOCOL_VERSIONS[0],
      capabilities: { tools: {} },
      serverInfo: { name: "merlonctl", title: "Merlon", version: this.#options.version },
      instructions: INSTRUCTIONS,
    }
  }

  /** Undefined if the client has cancelled the call, since it expects no reply then. */
  async #call(id: Id, params: unknown): Promise<object | undefined> {
    const { name, arguments: given = {} } = fieldsOf(params)
    const tool = this.#options.tools.find(one => one.name === name)
    if (tool === undefined) {
      const known = this.#options.tools.map(one => one.name).join(", ")
      throw new RpcError(RPC.params, `there is no tool \`${String(textOf(name)).slice(0, 100)}\`; there are ${known}`)
    }
    const line = commandLine(tool, given)
    // Returned as a result and not as a protocol error, so that a model can read it and try again.
    if ("error" in line) return failure(line.error)
    if (this.#running.size >= MOST_CALLS) return failure("too many concurrent queries; wait for answers")
    const controller = new AbortController()
    const { signal } = controller
    this.#running.set(id, controller)
    try {
      const answered = await this.#options.ask(line.words, signal)
      return signal.aborted ? undefined : resultOf(answered, fieldsOf(given).format)
    } catch (error) {
      return signal.aborted ? undefined : failure(messageOf(error))
    } finally {
      this.#running.delete(id)
    }
  }

  #fail(id: Id | null, code: number, message: string): void {
    this.#options.send({ jsonrpc: "2.0", id, error: { code, message } })
  }
}

const isBlank = (line: Buffer): boolean => line.every(byte => byte === 0x20 || byte === 0x0d || byte === 0x09)

function parsed(line: Buffer): unknown {
  if (!isUtf8(line)) throw new RpcError(RPC.parse, "the message is not in UTF-8")
  try {
    return JSON.parse(line.toString("utf8"))
  } catch (error) {
    throw new RpcError(RPC.parse, `the message is not JSON: ${messageOf(error)}`)
  }
}

function idOf(id: unknown): Id | null {
  return (typeof id === "string" && id.length <= MOST_ID) || (typeof id === "number" && Number.isSafeInteger(id))
    ? id
    : null
}

const MOST_ID = 1_000

const INSTRUCTIONS =
  "Answers about service-mesh authorization policies, by proof over all requests. Read `result`, `undecided` and " +
  "`read.skipped` before you claim anything: an answer is a proof only where nothing is undecided and nothing was skipped. " +
  "`exitCode` 0: nothing found or allowed; 5: changes, findings or a denied request; 4: not decided."

const failure = (text: string): object => ({ content: [{ type: "text", text }], isError: true })

/** Whether the command has answered. Otherwise its output contains the reason. */
const isAnswer = ({ code, out }: Answered): boolean =>
  code === EXIT.ok || code === EXIT.found || code === EXIT.undecided || (code === EXIT.failed && out !== "")

function resultOf(answered: Answered, format: unknown): object {
  const { code, out, err } = answered
  const notes = err.split("\n").filter(line => line !== "")
  if (!isAnswer(answered) || out === "") return failure(err.trim() || `exit code ${code}`)
  if (format !== undefined && format !== "json") {
    return { content: [{ type: "text", text: [out.trimEnd(), ...notes, `exit code ${code}`].join("\n") }] }
  }
  const structuredContent = { exitCode: code, notes, answer: JSON.parse(out) }
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent }
}
