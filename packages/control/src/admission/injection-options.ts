// SPDX-License-Identifier: Apache-2.0
// What may be chosen about injected proxies, and the fixed ports and names they have.

import type { MeshNames } from "@merlon/policy"
import { FIRST_LISTEN_PORT } from "../registry/application-ports.js"

export interface InjectionOptions {
  readonly names: MeshNames
  readonly image: string
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | "Never"
  readonly capture: "redirect" | "service"
  /** As an init container that keeps running (Kubernetes 1.29), so that it is there before and after the application. */
  readonly nativeSidecar: boolean
  readonly controlPlane: {
    /** `HOST:PORT`. */
    readonly address: string
    /** What its certificate must be for. */
    readonly serverName: string
  }
  readonly requests?: { readonly cpu: string; readonly memory: string }
}

/** Grows when what is injected changes; pods say which one they have. */
export const TEMPLATE_VERSION = "1"

export const XSERVER_UID = 1337
export const HEALTH_PORT = 15_021
export const ADMIN_PORT = 15_000
export const MAX_PORTS = 20
export const DEFAULT_REQUESTS = { cpu: "10m", memory: "64Mi" } as const

/** Whether an application cannot have this port, because xserver has it. */
export function isReservedPort(port: number): boolean {
  const listening = port >= FIRST_LISTEN_PORT && port < FIRST_LISTEN_PORT + MAX_PORTS
  return listening || port === ADMIN_PORT || port === HEALTH_PORT || port === XSERVER_UID
}

export interface InjectionNames {
  readonly initContainer: string
  readonly papersVolume: string
  readonly stateVolume: string
  readonly papersFolder: string
  readonly stateFolder: string
  readonly annotations: {
    readonly injected: string
    readonly proxy: string
    readonly ports: string
    readonly probes: string
    readonly bootstrap: string
    readonly originalTargetPorts: string
  }
}

export function injectionNames({ mesh, domain }: MeshNames): InjectionNames {
  return {
    initContainer: `${mesh}-init`,
    papersVolume: `${mesh}-papers`,
    stateVolume: `${mesh}-state`,
    papersFolder: `/var/run/secrets/${domain}`,
    stateFolder: `/var/lib/${mesh}`,
    annotations: {
      injected: `${domain}/injected`,
      proxy: `${domain}/proxy`,
      ports: `${domain}/ports`,
      probes: `${domain}/probes`,
      bootstrap: `${domain}/bootstrap`,
      originalTargetPorts: `${domain}/original-target-ports`,
    },
  }
}
