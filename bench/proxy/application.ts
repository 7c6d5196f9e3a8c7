// SPDX-License-Identifier: Apache-2.0
// Starts the application behind the proxies, and returns its address.

import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { Upstreams } from "./work.js"

export interface Application {
  readonly process: ChildProcess
  readonly upstreams: Upstreams
}

/** `prefix`: the command that starts it in its environment, such as a network namespace. */
export async function startApplication(host = "127.0.0.1", prefix: readonly string[] = []): Promise<Application> {
  const [program, ...args] = [...prefix, "node", "--import", "tsx", "bench/proxy/upstream.ts", host]
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] })
  for await (const line of createInterface({ input: child.stdout })) {
    return { process: child, upstreams: JSON.parse(line) }
  }
  throw new Error("the application did not start")
}
