// SPDX-License-Identifier: Apache-2.0
// All options of a control plane. Its caller fills them in; nothing below reads flags or the environment.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { OutboundMode } from "@merlon/xds"
import type { Logger } from "pino"
import type { Outbound } from "./admission/injection-options.js"
import type { ProxyResources } from "./admission/proxy-resources.js"
import type { KubernetesClient } from "./kubernetes/client.js"
import type { Udp } from "./registry/udp.js"

export interface ControlPlaneOptions {
  readonly client: KubernetesClient
  readonly mesh: MeshConfig
  /** What workloads of namespaces without the label may call beyond the cluster. */
  readonly outboundPolicy: OutboundMode
  /** How long a client that applies a policy waits for proofs, at most. */
  readonly proofBudgetMs: number
  /** How many changes of policies are kept in the history of each namespace; 0 keeps none. */
  readonly historyEntries: number
  /** The suffix of Services' host names. */
  readonly clusterDomain: string
  /** Of this program, for operators. */
  readonly version?: string
  /** Of this replica, unique among those that run now. */
  readonly replica: string
  /**
   * Of a replica that has the cluster inside of it: no other process can have the same one, so earlier runs of such a
   * replica are over. Others of the same cluster are none of them.
   */
  readonly hasCluster: boolean
  readonly listen: {
    readonly host: string
    /** Where proxies are heard, if that is another address. */
    readonly meshHost?: string | undefined
    /** 0 for any, as with the others. */
    readonly meshPort: number
    readonly webhookPort: number
    readonly healthPort: number
    /** Where other replicas ask; these find it by our Lease. */
    readonly replicaPort: number
  }
  /** Address under which other replicas reach this one. */
  readonly replicaHost: string
  /** Host names and addresses under which proxies and the API server reach this replica, for its certificate. */
  readonly servingNames: readonly string[]
  /** How the API server reaches the webhooks: directly on this machine, or through a Service. */
  readonly webhooks: { readonly url: (port: number) => string } | { readonly service: string; readonly port: number }
  /** Whether the cluster is told of the API of answers. One that is, lets no namespace end while no replica runs. */
  readonly answersApi: boolean
  readonly certificates: {
    readonly defaultTtlMs: number
    readonly maxTtlMs: number
    readonly rootLifetimeMs: number
    /** How long a phase of a root's rotation lasts at least, so that proxies that were away are heard too. */
    readonly rotationSettleMs: number
    /** Folder with a plugged-in authority. */
    readonly folder: string | undefined
  }
  readonly keySets: {
    /** PEM, beside the system's own authorities. */
    readonly authorities: string | undefined
    readonly denyPrivateAddresses: boolean
    /** Issuers on this machine; a mesh on one machine has them there. */
    readonly allowLoopback: boolean
    /** How many issuers the policies of one namespace may name; the root namespace as many as there are places. */
    readonly perNamespace: number
  }
  readonly injection: {
    readonly image: string
    readonly capture: "redirect" | "service"
    /** Whether captured Pods take datagrams, which no policy judges; `pass` where absent. */
    readonly udp?: Udp | undefined
    /** What becomes of calls out of Pods that do not choose themselves; `off` where absent. */
    readonly outbound?: Outbound | undefined
    /** Where injected proxies find the control plane, as `HOST:PORT`. */
    readonly controlPlane: string
    readonly nativeSidecar: boolean
    readonly resources?: ProxyResources | undefined
  }
  /** OTLP over HTTP; no traces where absent. */
  readonly traces: string | undefined
  readonly logger: Logger
}
