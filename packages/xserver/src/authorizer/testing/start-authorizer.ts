// SPDX-License-Identifier: Apache-2.0
// An authorizer in this process, with a real data path, for tests over real sockets.

import { meshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { DEFAULT_LIMITS } from "../../limits.js"
import { LocalDataPath } from "../../process/local-data-path.js"
import type { GatewayTrust } from "../gateway-trust.js"

export interface AuthorizerOptions {
  readonly name?: string
  /** 0 for any free port; a provider of the authorizer may have to know it in advance. */
  readonly port?: number
  readonly trust: GatewayTrust
  readonly policies: readonly PolicyDocument[]
  readonly mesh?: Parameters<typeof meshConfig>[0]
}

export async function startAuthorizer(options: AuthorizerOptions): Promise<{ port: number; path: LocalDataPath }> {
  const { name = "gate-1", port = 0, trust, policies, mesh } = options
  const path = new LocalDataPath({ mesh: "merlon", limits: DEFAULT_LIMITS, accessLog: "off", authorizer: trust })
  await path.apply({
    revision: 1,
    mesh: meshConfig(mesh),
    workload: { namespace: "shop", name, serviceAccount: "default", labels: {} },
    ports: [
      {
        port: 9_000,
        listen: { host: "127.0.0.1", port },
        upstream: { host: "127.0.0.1", port: 1 },
        protocol: "http",
        upstreamProtocol: "http/1.1",
        serviceNames: [],
      },
    ],
    policies,
    keySets: {},
    tls: undefined,
    revocations: { identities: [], serials: [] },
    probes: {},
  })
  return { port: path.addresses()[0]?.port ?? port, path }
}
