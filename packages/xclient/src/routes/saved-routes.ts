// SPDX-License-Identifier: Apache-2.0
// Keeps the routes and the outbound policy on disk, so that a proxy that starts while the control plane is down still
// reaches known hosts, over mTLS if required, and never calls these in plaintext. It is not kept that a host was
// outside of the mesh, because it may have joined since. Write errors are ignored; a file that does not match its
// checksum is not used.

import {
  decodeHostRoutes,
  decodeOutboundPolicy,
  encodeHostRoutes,
  encodeOutboundPolicy,
  type HostRoutesSpec,
} from "@merlon/xds"
import { type Log, messageOf, readCheckedFile, writeCheckedFileLater } from "@merlon/xds/runtime"
import type { KnownRoutes, SavedRoute } from "./known-routes.js"

const NAME = "routes.json"
const VERSION = 1
/** Changes come in bursts. */
const PAUSE_MS = 1_000
/** Limit for all routes together; the least recently requested ones are left out. */
const MAX_BYTES = 8 * 1_048_576

interface StoredRoute {
  readonly name: string
  /** The resource as received, in base64. Earlier versions also kept names without routes. */
  readonly routes?: string
}

interface Stored {
  readonly version: number
  readonly routes: readonly StoredRoute[]
  /** The outbound policy as received, in base64; absent if there was none. */
  readonly policy?: string
}

export class SavedRoutes {
  readonly #knownRoutes: KnownRoutes
  readonly #folder: string
  readonly #log: Log
  readonly #stop: () => void
  /** Each answer is encoded once, because an update changes few of them. */
  readonly #encoded = new WeakMap<HostRoutesSpec, string>()
  #timer: NodeJS.Timeout | undefined
  /** INVARIANT: one write at a time, each with the state at its start, so that the last write has the last state. */
  #writing: Promise<void> = Promise.resolve()

  /** Restores the saved routes, then follows the knownRoutes. */
  constructor(knownRoutes: KnownRoutes, folder: string, log: Log) {
    this.#knownRoutes = knownRoutes
    this.#folder = folder
    this.#log = log
    this.#restore()
    this.#stop = knownRoutes.onChange(() => {
      this.#timer ??= setTimeout(() => this.#write(), PAUSE_MS).unref()
    })
  }

  /** Resolves when the last state is on disk. */
  async close(): Promise<void> {
    this.#stop()
    if (this.#timer !== undefined) this.#write()
    await this.#writing
  }

  #write(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.then(async () => {
      try {
        await writeCheckedFileLater(this.#folder, NAME, JSON.stringify(this.#stored()))
      } catch (error) {
        this.#log.warn({ error: messageOf(error) }, "the routes could not be saved for the next start")
      }
    })
  }

  #stored(): Stored {
    const stored: StoredRoute[] = []
    let bytes = 0
    for (const { name, spec } of this.#knownRoutes.known()) {
      const routes = this.#encode(spec)
      bytes += name.length + routes.length
      if (bytes > MAX_BYTES) break
      stored.push({ name, routes })
    }
    const policy = this.#knownRoutes.policy?.spec
    return { version: VERSION, routes: stored, ...(policy && { policy: base64(encodeOutboundPolicy(policy)) }) }
  }

  #encode(spec: HostRoutesSpec): string {
    const known = this.#encoded.get(spec)
    if (known !== undefined) return known
    const encoded = base64(encodeHostRoutes(spec))
    this.#encoded.set(spec, encoded)
    return encoded
  }

  #restore(): void {
    try {
      const text = readCheckedFile(this.#folder, NAME)
      if (text === undefined) return
      const { version, routes, policy } = JSON.parse(text) as Stored // the checksum says that it is what we wrote
      if (version !== VERSION) return
      if (policy !== undefined) this.#knownRoutes.policy?.set(decodeOutboundPolicy(Buffer.from(policy, "base64")), "")
      this.#knownRoutes.restore(routes.map(readRoute))
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, "the routes on disk cannot be used; starting without them")
    }
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64")
}

function readRoute({ name, routes }: StoredRoute): SavedRoute {
  return { name, ...(routes !== undefined && { spec: decodeHostRoutes(Buffer.from(routes, "base64")) }) }
}
