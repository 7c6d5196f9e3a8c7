// SPDX-License-Identifier: Apache-2.0
// Pods as users write them, and as the webhook changes them.

import { meshNames } from "@merlon/policy/mesh"
import { injectPod, type PodInjection } from "../inject-pod.js"
import type { InjectionOptions } from "../injection-options.js"
import { patched } from "./apply-patch.js"

export interface Container {
  readonly name: string
  readonly [field: string]: unknown
}
export interface TestPod {
  readonly apiVersion: "v1"
  readonly kind: "Pod"
  readonly metadata: {
    readonly name: string
    readonly labels?: Record<string, string>
    readonly annotations?: Record<string, string>
  }
  readonly spec: {
    readonly containers: readonly Container[]
    readonly initContainers?: readonly Container[]
    readonly volumes?: readonly { readonly name: string; readonly projected?: unknown; readonly emptyDir?: unknown }[]
    readonly [field: string]: unknown
  }
}

export const names = meshNames()
export const OPTIONS: InjectionOptions = {
  names,
  image: "merlond:1",
  capture: "redirect",
  nativeSidecar: false,
  controlPlane: { address: "merlond.merlon-system.svc:15012", serverName: "merlond.merlon-system.svc" },
}
export const ENABLED = { namespace: "foo", namespaceOptedIn: true }
export const app = (fields: object = {}): Container => ({
  name: "app",
  image: "app",
  ports: [{ containerPort: 8080, name: "http" }],
  ...fields,
})
export const pod = (spec: object = {}, metadata: object = {}): TestPod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", ...metadata },
  spec: { containers: [app()], ...spec },
})

export function injected(before: TestPod, options: Partial<InjectionOptions> = {}) {
  const result = injectPod(before, ENABLED, { ...OPTIONS, ...options })
  if (result.outcome !== "injected") throw new Error(`${result.outcome}: ${result.because}`)
  return { after: patched(before, result.patch), warnings: result.warnings }
}
export const variable = (name: string) => `\${${name}}`
export const outcome = ({ outcome }: PodInjection) => outcome
