// SPDX-License-Identifier: Apache-2.0
// The routes on disk, so that a proxy that starts while the control plane is away still reaches the hosts it knew, over mutual
// TLS where that is demanded. What cannot be written is done without; what does not match its checksum is not used.

import { decodeHostRoutes, encodeHostRoutes } from "@merlon/xds"
import { type Log, messageOf, readCheckedFile, writeCheckedFile } from "@merlon/xds/runtime"
import type { KeptRoute, RouteBook } from "./route-book.js"

const NAME = "routes.json"
const VERSION = 1
/** Changes come in bursts. */
const PAUSE_MS = 1_000
/** Of all routes together; those asked for longest ago are left out. */
const MAX_BYTES = 8 * 1_048_576

interface StoredRoute {
  readonly name: string
  /** The resource as it came, in base64; absent where there is no such host. */
  readonly routes?: string
}

export class KeptRoutes {
  readonly #book: RouteBook
  readonly #folder: string
  readonly #log: Log
  readonly #stop: () => void
  #timer: NodeJS.Timeout | undefined

  /** Restores what is there, then follows the book. */
  constructor(book: RouteBook, folder: string, log: Log) {
    this.#book = book
    this.#folder = folder
    this.#log = log
    this.#restore()
    this.#stop = book.onChange(() => {
      this.#timer ??= setTimeout(() => this.write(), PAUSE_MS).unref()
    })
  }

  /** Writes at once. */
  write(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      writeCheckedFile(this.#folder, NAME, JSON.stringify({ version: VERSION, routes: this.#stored() }))
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, "the routes could not be kept for the next start")
    }
  }

  close(): void {
    this.#stop()
    if (this.#timer !== undefined) this.write()
  }

  #stored(): readonly StoredRoute[] {
    const stored: StoredRoute[] = []
    let bytes = 0
    for (const { name, spec } of this.#book.known()) {
      const routes = spec === undefined ? undefined : Buffer.from(encodeHostRoutes(spec)).toString("base64")
      bytes += name.length + (routes?.length ?? 0)
      if (bytes > MAX_BYTES) break
      stored.push({ name, ...(routes !== undefined && { routes }) })
    }
    return stored
  }

  #restore(): void {
    try {
      const text = readCheckedFile(this.#folder, NAME)
      if (text === undefined) return
      const { version, routes } = JSON.parse(text)
      if (version !== VERSION) return
      this.#book.restore((routes as readonly StoredRoute[]).map(readRoute)) // the checksum says that it is what we wrote
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, "the routes on disk cannot be used; starting without")
    }
  }
}

function readRoute({ name, routes }: StoredRoute): KeptRoute {
  return { name, spec: routes === undefined ? undefined : decodeHostRoutes(Buffer.from(routes, "base64")) }
}
