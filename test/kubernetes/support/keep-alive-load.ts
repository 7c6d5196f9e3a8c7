// SPDX-License-Identifier: Apache-2.0
// Load over keep-alive connections: a program in a caller's Pod calls repeatedly until its standard input ends, and
// reports the results. Half of the requests are POST, which a proxy must not retry once an application may have seen
// them.

import { tryKubectl } from "./cluster.js"

export interface LoadResult {
  readonly answered: number
  /** Responses that closed their connection, which only a draining server does. */
  readonly closing: number
  /** The method, with status and reason from the caller's proxy or the error of the connection. */
  readonly failed: readonly string[]
}

/** The caller outside the mesh. */
const OUTSIDE = ["-n", "outside", "deploy/caller"]

const CALLERS = 8
const PROGRAM = `
  const { Agent, request } = require("node:http")
  const result = { answered: 0, closing: 0, failed: [] }
  let isOver = false
  process.stdin.resume().on("end", () => { isOver = true })
  const call = (agent, method) => new Promise(resolve => {
    const fail = reason => { result.failed.push(method + " " + reason); resolve() }
    const asked = request(process.argv[1], { agent, method, timeout: 15000 }, answer => {
      answer.on("error", () => fail("broken off")).resume().on("end", () => {
        if (answer.statusCode !== 200) return fail(answer.statusCode + " " + (answer.headers["x-merlon-failure"] ?? ""))
        if (result.answered++ === 0) console.log("begun")
        if (answer.headers.connection === "close") result.closing++
        resolve()
      })
    })
    asked.on("timeout", () => asked.destroy(new Error("no answer within 15 s")))
    asked.on("error", error => fail(error.message)).end()
  })
  const loop = async method => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!isOver) {
      await call(agent, method)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    agent.destroy()
  }
  const loops = Array.from({ length: ${CALLERS} }, (_, index) => loop(index % 2 === 0 ? "GET" : "POST"))
  Promise.all(loops).then(() => console.log(JSON.stringify(result)))`

/** Calls the URL until `meanwhile`, which starts after the first response, is finished. */
export async function keepAliveLoad(
  url: string,
  meanwhile: () => Promise<unknown>,
  from: readonly string[] = OUTSIDE,
): Promise<LoadResult> {
  let begin: () => void = () => undefined
  const happened = new Promise<void>(resolve => {
    begin = resolve
  }).then(meanwhile)
  const end = happened.then(
    () => "",
    () => "",
  )
  const called = ["exec", "-i", ...from, "--", "node", "-e", PROGRAM, url]
  const { code, out, err } = await tryKubectl(called, end, begin)
  if (code !== 0) throw new Error(`the callers ended with ${code}:\n${err}${out}`)
  await happened
  return JSON.parse(out.trim().split("\n").at(-1) ?? "")
}
