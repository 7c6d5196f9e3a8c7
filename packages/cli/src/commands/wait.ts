// SPDX-License-Identifier: Apache-2.0
// `merlond wait`: the `postStart` hook of an injected proxy that is a plain container. Returns when the proxy is ready,
// so that the kubelet starts the application after it and no call of the application comes too early.

import { messageOf } from "@merlon/xds/runtime"
import { Command, Option } from "commander"
import { type Address, address, duration } from "../arguments.js"

interface Flags {
  readonly health: Address
  readonly timeout: number
}

const PERIOD_MS = 100
const ANSWER_MS = 3_000

export function waitCommand(): Command {
  return new Command("wait")
    .description("Wait until the proxy of this Pod is ready")
    .addOption(
      new Option("--health <host:port>", "where the proxy answers readiness probes")
        .argParser(address)
        .default({ host: "127.0.0.1", port: 15_021 }, "127.0.0.1:15021"),
    )
    .addOption(new Option("--timeout <time>", "give up after").argParser(duration).default(120_000, "120s"))
    .action(({ health, timeout }: Flags) => ready(health, timeout))
}

/** Rejects with the last reason that the proxy was not ready. The kubelet then restarts the proxy. */
export async function ready({ host, port }: Address, timeoutMs: number): Promise<void> {
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}/healthz/ready`
  const end = performance.now() + timeoutMs
  for (;;) {
    const obstacle = await ask(url)
    if (obstacle === undefined) return
    if (performance.now() >= end) throw new Error(`the proxy is not ready after ${timeoutMs / 1000} s: ${obstacle}`)
    await new Promise(resolve => setTimeout(resolve, PERIOD_MS))
  }
}

async function ask(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS), headers: { connection: "close" } })
    const text = await response.text()
    return response.ok ? undefined : `${url} answers ${response.status} ${text.trim()}`.trim()
  } catch (error) {
    return `${url} does not answer: ${messageOf(error instanceof Error ? (error.cause ?? error) : error)}`
  }
}
