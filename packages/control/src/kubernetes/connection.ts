// SPDX-License-Identifier: Apache-2.0
// The API's address and our credentials. Credentials are read for every request, because tokens and certificates change
// while we run.

import type { ConnectionCode } from "../errors.js"

export interface Credentials {
  /** PEM of those who may vouch for the server; the system's own where absent. */
  readonly ca?: string
  readonly certificate?: string
  readonly key?: string
  readonly token?: string
}

export interface Connection {
  /** `https://host:port`, with a path where the API lies below one. */
  readonly server: string
  /** Expected in the server's certificate, where that is not the host. */
  readonly serverName?: string
  /** The server's certificate is not looked at. */
  readonly insecure: boolean
  /** The context's namespace. */
  readonly namespace?: string
  /** For messages: `context \`prod\` of \`/home/me/.kube/config\``. */
  readonly origin: string
  credentials(): Promise<Credentials>
  /** The server did not believe them: what was remembered is forgotten. */
  rejected(): void
}

/** There is no way to talk to an API, and why. */
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
