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
  /** Where workloads may call outside the cluster if their namespace has no label for it. */
  readonly outboundPolicy: OutboundMode
  /** How long an apply waits for proofs, at most. */
  readonly proofBudgetMs: number
  /** How many policy changes are kept in the history of each namespace; 0 keeps none. */
  readonly historyEntries: number
  /** The DNS suffix of Services. */
  readonly clusterDomain: string
  /** Version of this program, for operators. */
  readonly version?: string
  /** Name of this replica, unique among running replicas. */
  readonly replica: string
  /**
   * Whether the cluster's API server runs inside this process. Only one process can have it, so earlier runs of such a
   * replica are over. That is not true of other replicas of the same cluster.
   */
  readonly hasCluster: boolean
  readonly listen: {
    readonly host: string
    /** Address on which proxies connect, if it differs from `host`. */
    readonly meshHost?: string | undefined
    /** 0 chooses any free port, here and below. */
    readonly meshPort: number
    readonly webhookPort: number
    readonly healthPort: number
    /** Port for queries of other replicas, which find it by our Lease. */
    readonly replicaPort: number
  }
  /** Address under which other replicas reach this one. */
  readonly replicaHost: string
  /** Host names and addresses under which proxies and the API server reach this replica, for its certificate. */
  readonly servingNames: readonly string[]
  /** How the API server reaches the webhooks: directly on this machine, or through a Service. */
  readonly webhooks: { readonly url: (port: number) => string } | { readonly service: string; readonly port: number }
  /**
   * Whether to register the answers API with the cluster. If it is registered and no replica runs, namespaces cannot be
   * deleted.
   */
  readonly answersApi: boolean
  readonly certificates: {
    readonly defaultTtlMs: number
    readonly maxTtlMs: number
    readonly rootLifetimeMs: number
    /** Minimum duration of each phase of a root rotation, so that proxies that were offline can catch up. */
    readonly rotationSettleMs: number
    /** Folder with a certificate authority that you supply. */
    readonly folder: string | undefined
  }
  readonly keySets: {
    /** Additional authorities in PEM; those of the system are always trusted. */
    readonly authorities: string | undefined
    readonly denyPrivateAddresses: boolean
    /** Allows issuers on this machine, as in a local mesh. */
    readonly allowLoopback: boolean
    /** How many issuers the policies of one namespace may name. The root namespace may use the whole limit. */
    readonly perNamespace: number
  }
  readonly injection: {
    readonly image: string
    readonly capture: "redirect" | "service"
    /** Whether captured Pods receive UDP datagrams, which no policy covers; default `pass`. */
    readonly udp?: Udp | undefined
    /** How outbound calls of Pods are handled if the Pod does not say; default `off`. */
    readonly outbound?: Outbound | undefined
    /** The control plane's address for injected proxies, as `HOST:PORT`. */
    readonly controlPlane: string
    readonly nativeSidecar: boolean
    readonly resources?: ProxyResources | undefined
  }
  /** OTLP over HTTP; no traces if undefined. */
  readonly traces: string | undefined
  readonly logger: Logger
}
