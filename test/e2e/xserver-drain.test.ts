// SPDX-License-Identifier: Apache-2.0
// A rollout on one machine: a Pod's processes end in the kubelet's order while keep-alive callers continue to call, and
// none of their requests fails. New connections go to a second Pod as soon as the first terminates, as with a Service.

import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { Agent, type IncomingMessage, request } from "node:http"
import { type AddressInfo, connect, createServer } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterEach, describe, expect, it } from "vitest"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { XserverProcess } from "./support/xserver.js"

const MERLOND = join(import.meta.dirname, "../../packages/cli/bin/merlond.js")
const CALLERS = 8
const run = promisify(execFile)

/** Responds with its name, and shuts down like well-behaved servers: no new connections, idle ones closed. */
const APPLICATION = `
  const server = require("node:http").createServer((_, reply) => reply.end(process.argv[1]))
  server.listen(0, "127.0.0.1", () => console.log(server.address().port))
  process.on("SIGTERM", () => { server.close(() => process.exit(0)); server.closeIdleConnections() })`

interface Pod {
  readonly xserver: XserverProcess
  readonly application: ChildProcess
}

const pods: Pod[] = []
afterEach(async () => {
  for (const { xserver, application } of pods.splice(0)) {
    application.kill("SIGKILL")
    await xserver.remove()
  }
})

async function startPod(name: string, workers: string): Promise<Pod> {
  const application = spawn(process.execPath, ["-e", APPLICATION, name], { stdio: ["ignore", "pipe", "inherit"] })
  const [line] = await once(application.stdout, "data")
  const pod = {
    xserver: await XserverProcess.start({ upstream: Number(line), args: ["--workers", workers] }),
    application,
  }
  pods.push(pod)
  return pod
}

/** Sends each new connection to the current Pod, and keeps open ones where they are. */
class Service {
  readonly #server = createServer({ allowHalfOpen: true }, socket => {
    const pod = connect({ host: "127.0.0.1", port: this.target.xserver.port, allowHalfOpen: true })
    for (const [from, to] of [
      [socket, pod],
      [pod, socket],
    ] as const) {
      from.on("error", () => to.destroy())
      from.pipe(to)
    }
  })

  constructor(public target: Pod) {}

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1")
    await once(this.#server, "listening")
    return (this.#server.address() as AddressInfo).port // a TCP server
  }

  close(): void {
    this.#server.close()
  }
}

/** Calls continuously over one connection for as long as it is kept, and records how each call ended. */
class KeepAliveCaller {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #port: number
  readonly #loop: Promise<void>
  #stopped = false
  readonly answers: string[] = []

  constructor(port: number, method: string) {
    this.#port = port
    this.#loop = this.#call(method)
  }

  get last(): string | undefined {
    return this.answers.at(-1)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#loop
    this.#agent.destroy()
  }

  async #call(method: string): Promise<void> {
    while (!this.#stopped) this.answers.push(await this.#once(method))
  }

  #once(method: string): Promise<string> {
    return new Promise(resolve => {
      const asked = request({ host: "127.0.0.1", port: this.#port, agent: this.#agent, method })
      asked.on("error", error => resolve(`failed: ${error.message}`))
      asked.on("response", (response: IncomingMessage) => {
        let text = ""
        response.on("data", chunk => {
          text += String(chunk)
        })
        response.on("end", () => resolve(response.statusCode === 200 ? text : `${response.statusCode} ${text}`))
        response.on("error", error => resolve(`failed: ${error.message}`))
      })
      asked.end()
    })
  }
}

describe.each(["1", "2"])("with %s workers", workers => {
  it("loses no request of keep-alive callers when a Pod is replaced", async () => {
    const [first, second] = [await startPod("first", workers), await startPod("second", workers)]
    const service = new Service(first)
    const port = await service.listen()
    const callers = Array.from(
      { length: CALLERS },
      // A proxy may not repeat a request with a non-idempotent method that the application may have seen.
      (_, index) => new KeepAliveCaller(port, index % 2 === 0 ? "GET" : "POST"),
    )
    await eventually(async () => callers.every(({ answers }) => answers.length > 20), {
      what: "every caller has 20 answers",
    })
    // As the kubelet ends a Pod with a native sidecar: hooks first, then the application, then the sidecar.
    service.target = second
    await run(process.execPath, [MERLOND, "drain", "--state", join(first.xserver.folder, "state")])
    await eventually(async () => callers.every(({ last }) => last === "second"), {
      what: "every caller has the second application's answer",
    })
    first.application.kill("SIGTERM")
    await once(first.application, "exit")
    first.xserver.signal("SIGTERM")
    expect(await first.xserver.exit()).toBe(0)
    await Promise.all(callers.map(caller => caller.stop()))
    service.close()
    const failed = callers.flatMap(({ answers }) => answers).filter(answer => !/^(first|second)$/.test(answer))
    expect(failed).toEqual([])
  })
})
