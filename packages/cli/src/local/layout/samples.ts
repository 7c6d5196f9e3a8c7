// SPDX-License-Identifier: Apache-2.0
// The workloads of a local mesh, as the samples' manifests would have an orchestrator run them.

import type { RunSpec } from "../runs/run-spec.js"

export interface SampleInstance {
  readonly namespace: string
  readonly name: string
  readonly serviceAccount: string
  readonly labels: { readonly [name: string]: string }
  /** What runs behind its proxy: a program of the samples, or one that calls others. */
  readonly application:
    | { readonly kind: "server"; readonly program: string; readonly version: string }
    | { readonly kind: "caller"; readonly args: readonly string[] }
    | { readonly kind: "command"; readonly spec: RunSpec; readonly port: number; readonly protocol: string }
}

export interface SampleService {
  readonly namespace: string
  readonly name: string
  /** Its port, and where callers from outside find it if that one cannot be had. */
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

export const INSTANCES: readonly SampleInstance[] = [
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

export const MANIFESTS: readonly string[] = ["httpbin.yaml", "web.yaml", "consumer.yaml"]
