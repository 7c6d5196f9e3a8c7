// SPDX-License-Identifier: Apache-2.0
// The control plane's gRPC port: both variants of aggregated xDS and the proxies' unary calls, behind one TLS listener.

import type { MeshServerOptions, RunningServer } from "./options.js"

export type MeshServer = RunningServer

export const MeshServer = {
  /** gRPC is loaded only here: proxies import this package too, and serve nothing. */
  async start(options: MeshServerOptions): Promise<MeshServer> {
    const { startServer } = await import("./start-server.js")
    return startServer(options)
  },
} as const
