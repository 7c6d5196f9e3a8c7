// SPDX-License-Identifier: Apache-2.0
// The workloads of a local mesh, as an orchestrator would run them from the samples' manifests.

import type { RunSpec } from "../runs/run-spec.js"

export interface SampleInstance {
  readonly namespace: string
  readonly name: string
  readonly serviceAccount: string
  readonly labels: { readonly [name: string]: string }
  /** The program behind the proxy: one of the samples, or a client that calls them. */
  readonly application:
    | { readonly kind: "server"; readonly program: string; readonly version: string; readonly args?: readonly string[] }
    | { readonly kind: "caller"; readonly args: readonly string[] }
    | { readonly kind: "command"; readonly spec: RunSpec; readonly port: number; readonly protocol: string }
}

export interface SampleService {
  readonly namespace: string
  readonly name: string
  /** Its port, and `otherwise` the first fallback for its ingress port. */
  readonly port: number
  readonly otherwise: number
  readonly selects: (instance: SampleInstance) => boolean
}

const web = (version: string): SampleInstance => ({
  namespace: "app",
  name: `web-${version}-1`,
  serviceAccount: "web",
  labels: { app: "web", version },
  application: { kind: "server", program: "web", version },
})

const INSTANCES: readonly SampleInstance[] = [
  {
    namespace: "foo",
    name: "httpbin-1",
    serviceAccount: "httpbin",
    labels: { app: "httpbin", version: "v1" },
    application: { kind: "server", program: "httpbin", version: "v1" },
  },
  web("v1"),
  web("v2"),
  {
    namespace: "app",
    name: "consumer-1",
    serviceAccount: "consumer",
    labels: { app: "consumer", version: "v1" },
    application: { kind: "caller", args: ["xclient", "--watch"] },
  },
]

const shop = (name: string): SampleInstance => ({
  namespace: "shop",
  name: `${name}-1`,
  serviceAccount: name,
  labels: { app: name, version: "v1" },
  application: { kind: "server", program: "shop", version: "v1", args: [name] },
})

/** The shop of `--shop`, with steady traffic, one denied edge and one plaintext caller. */
const SHOP_INSTANCES = ["frontend", "cart", "checkout", "payment", "ledger"].map(shop)

/** The instance that the visitor outside the mesh calls. */
export const SHOP_ENTRY = "frontend-1"

export function sampleInstances({ shop }: { readonly shop: boolean }): readonly SampleInstance[] {
  return shop ? [...INSTANCES, ...SHOP_INSTANCES] : INSTANCES
}

const service = (namespace: string, name: string, port: number, otherwise: number): SampleService => ({
  namespace,
  name,
  port,
  otherwise,
  selects: instance => instance.namespace === namespace && instance.labels.app === name,
})

export const SERVICES: readonly SampleService[] = [
  service("foo", "httpbin", 8_000, 8_001),
  service("app", "web", 80, 8_080),
]

const MANIFESTS = ["manifests/httpbin.yaml", "manifests/web.yaml", "manifests/consumer.yaml"]

export function sampleManifests({ shop }: { readonly shop: boolean }): readonly string[] {
  return shop ? [...MANIFESTS, "shop/shop.yaml"] : MANIFESTS
}
