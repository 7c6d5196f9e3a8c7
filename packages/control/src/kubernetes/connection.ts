// SPDX-License-Identifier: Apache-2.0
// The API's address and our credentials. Credentials are read for every request, because tokens and certificates change
// while we run.

import type { ConnectionCode } from "../errors.js"

export interface Credentials {
  /** PEM of the authorities to trust; the system's own if absent. */
  readonly ca?: string
  readonly certificate?: string
  readonly key?: string
  readonly token?: string
}

export interface Connection {
  /** `https://host:port`, with a path if the API is below one. */
  readonly server: string
  /** The name expected in the server's certificate, if it differs from the host. */
  readonly serverName?: string
  /** Does not verify the server's certificate. */
  readonly insecure: boolean
  /** The context's namespace. */
  readonly namespace?: string
  /** For messages: `context \`prod\` of \`/home/me/.kube/config\``. */
  readonly origin: string
  credentials(): Promise<Credentials>
  /** Call it when the server rejected the credentials: cached ones are dropped. */
  rejected(): void
}

/** The API cannot be reached for the given reason. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError"

  constructor(
    readonly code: ConnectionCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
