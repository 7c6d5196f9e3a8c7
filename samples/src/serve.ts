// SPDX-License-Identifier: Apache-2.0
// What the samples share: their listening address, from a flag or the environment, and shutdown. SIGTERM stops listening,
// waits for requests in flight, and then gives up on the rest.

import { createServer, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { parseArgs } from "node:util"

export interface Settings {
  readonly host: string
  readonly port: number
  readonly version: string
}

/** What holds where nothing is said. */
export interface Defaults {
  readonly host: string
  readonly port: string
}

const DRAIN_MS = 10_000
export const ANYWHERE: Defaults = { host: "0.0.0.0", port: "8080" }

/** A flag wins over the environment, the environment over the default. */
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
  // A server that listens on a port has an address with one.
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`
}

/** Runs as a program until it is told to stop. */
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
  // A connection that has been answered would stay open for its next request.
  setInterval(() => server.closeIdleConnections(), 100)
  setTimeout(() => process.exit(0), DRAIN_MS).unref()
}
