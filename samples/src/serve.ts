// SPDX-License-Identifier: Apache-2.0
// Shared by the samples: the listening address, from a flag or the environment, and shutdown. SIGTERM stops listening,
// waits for requests in flight, and closes the remaining connections after a timeout.

import { createServer, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { parseArgs } from "node:util"

export interface Settings {
  readonly host: string
  readonly port: number
  readonly version: string
}

/** Settings without flags and environment variables. */
export interface Defaults {
  readonly host: string
  readonly port: string
}

const DRAIN_MS = 10_000
export const ANYWHERE: Defaults = { host: "0.0.0.0", port: "8080" }

/** Flags take precedence over the environment, and the environment over the defaults. */
export function settingsOf(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  defaults: Defaults = ANYWHERE,
): Settings {
  const { values } = parseArgs({
    args: [...args],
    options: { host: { type: "string" }, port: { type: "string" }, version: { type: "string" } },
  })
  const port = values.port ?? env.PORT ?? defaults.port
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new Error(`\`${port}\` is no port; write a whole number from 0 to 65535, 0 for any`)
  }
  return {
    host: values.host ?? env.HOST ?? defaults.host,
    port: Number(port),
    version: values.version ?? env.VERSION ?? "v1",
  }
}

export function listen(listener: RequestListener, { host, port }: Settings): Promise<Server> {
  const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 120_000 }, listener)
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, host, () => resolve(server))
  })
}

export function addressOf(server: Server): string {
  // A server that listens on a port has an AddressInfo.
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`
}

/** Runs as a program until SIGTERM or SIGINT. */
export async function serve(
  name: string,
  makeListener: (settings: Settings) => RequestListener,
  defaults: Defaults = ANYWHERE,
  args: readonly string[] = process.argv.slice(2),
): Promise<void> {
  try {
    const settings = settingsOf(args, process.env, defaults)
    const server = await listen(makeListener(settings), settings)
    process.stdout.write(`${name} ${settings.version} listens on ${addressOf(server)}\n`)
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => drain(server))
  } catch (error) {
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}

function drain(server: Server): void {
  server.close(() => process.exit(0))
  // An idle connection would otherwise stay open for another request.
  setInterval(() => server.closeIdleConnections(), 100)
  setTimeout(() => process.exit(0), DRAIN_MS).unref()
}
