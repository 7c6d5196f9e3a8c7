// SPDX-License-Identifier: Apache-2.0
// The state on disk of a proxy that knows the benchmark's workload and policies, so that no control plane is needed.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { encodeProxyResource, type ProxyResource, type TrustSpec } from "@merlon/xds"
import { HeldResources } from "../../packages/xserver/src/mesh/held-resources.js"
import { keepState } from "../../packages/xserver/src/mesh/saved-state.js"

export interface ProxyState {
  /** The folder that `makeMaterial` has filled. */
  readonly folder: string
  /** Names its files and its state; unique per proxy. */
  readonly name: string
  /** Absent if it accepts no requests from others. */
  readonly port?: {
    readonly application: number
    readonly listen: number
    readonly upstreamProtocol: "http/1.1" | "h2c"
  }
  readonly policies: readonly unknown[]
  readonly credentials: "server" | "client"
}

/** The files to start it with; more state can be written next to them. */
export interface ProxyFiles {
  readonly bootstrap: string
  readonly state: string
}

export function writeProxyState({ folder, name, port, policies, credentials }: ProxyState): ProxyFiles {
  const read = (file: string): string => readFileSync(join(folder, file), "utf8")
  const [state, bootstrap] = [join(folder, `${name}-state`), join(folder, `${name}.yaml`)]
  mkdirSync(state, { mode: 0o700 })
  const workload = {
    mesh: {
      mesh: "merlon",
      domain: "merlon.dev",
      trustDomain: "cluster.local",
      trustDomainAliases: [],
      pathNormalization: "BASE" as const,
      numTrustedProxies: 0,
      providers: [],
    },
    namespace: "bench",
    name: "bench",
    serviceAccount: "default",
    labels: {},
    services: [],
    ports: port === undefined ? [] : [portSpec(port)],
    probes: {},
  }
  const contents: readonly ProxyResource[] = [
    { kind: "workload", workload },
    { kind: "trust", trust: trustOf(folder) },
    ...policies.map(document => ({ kind: "policy", document }) as const),
  ]
  const resources = contents.map((content, n) => ({
    name: `${content.kind}-${n}`,
    version: "1",
    value: encodeProxyResource(content),
  }))
  keepState(state, {
    held: HeldResources.none.with({ revision: 1, resources, removed: [] }),
    since: Date.now(),
    credentials: { certificateChain: read(`${credentials}.pem`), privateKey: read(`${credentials}.key`) },
  })
  // No process listens on the discard port: the control plane is unavailable.
  const controlPlane = { address: "127.0.0.1:9" }
  const names = { workload: { namespace: "bench", name: "bench" }, trustBundle: "ca.pem", token: "token", state }
  writeFileSync(bootstrap, JSON.stringify({ controlPlane, ...names }))
  return { bootstrap, state }
}

export function trustOf(folder: string): TrustSpec {
  return { bundle: readFileSync(join(folder, "ca.pem"), "utf8"), signer: "", revokedIdentities: [], revokedSerials: [] }
}

function portSpec({ application, listen, upstreamProtocol }: NonNullable<ProxyState["port"]>) {
  return {
    port: application,
    listen,
    protocol: "http",
    upstreamProtocol,
    serviceNames: [],
    upgrades: [],
  } as const
}
