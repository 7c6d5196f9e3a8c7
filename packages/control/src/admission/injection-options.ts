// SPDX-License-Identifier: Apache-2.0
// Options of injected proxies, and their fixed ports and names.

import type { MeshNames } from "@merlon/policy/mesh"
import { FIRST_LISTEN_PORT } from "../registry/application-ports.js"
import { initContainer, outboundContainer, XSERVER_UID } from "../registry/privileges.js"
import type { Udp } from "../registry/udp.js"
import type { ProxyResources } from "./proxy-resources.js"

export interface InjectionOptions {
  readonly names: MeshNames
  readonly image: string
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | "Never"
  readonly capture: "redirect" | "service"
  /** `refuse`: no datagram comes in that is no answer to the Pod's own, where rules in the Pod capture. Else `pass`. */
  readonly udp?: Udp | undefined
  /** What becomes of calls out of Pods that do not choose themselves; `off` where absent. */
  readonly outbound?: Outbound | undefined
  /** As an init container that keeps running (Kubernetes 1.29), so that it is there before and after the application. */
  readonly nativeSidecar: boolean
  readonly controlPlane: {
    /** `HOST:PORT`. */
    readonly address: string
    /** What its certificate must be for. */
    readonly serverName: string
  }
  /** Of every injected container. */
  readonly resources?: ProxyResources
}

/** `capture`: rules in the Pod redirect its TCP connections to its proxy. */
export const OUTBOUNDS = ["capture", "off"] as const
export type Outbound = (typeof OUTBOUNDS)[number]

/** Grows when what is injected changes; pods say which one they have. */
export const TEMPLATE_VERSION = "3"

export const HEALTH_PORT = 15_021
const ADMIN_PORT = 15_000
/** Where calls out arrive: those that capture redirects, or those that take an `http_proxy`. */
export const OUTBOUND_PORT = 15_001
export const MAX_PORTS = 20

/** Whether an application cannot have this port, because xserver has it. */
export function isReservedPort(port: number): boolean {
  const listening = port >= FIRST_LISTEN_PORT && port < FIRST_LISTEN_PORT + MAX_PORTS
  return listening || port === ADMIN_PORT || port === OUTBOUND_PORT || port === HEALTH_PORT || port === XSERVER_UID
}

export interface InjectionNames {
  readonly initContainer: string
  readonly outboundContainer: string
  readonly credentialsVolume: string
  readonly stateVolume: string
  readonly credentialsFolder: string
  readonly stateFolder: string
  readonly annotations: {
    readonly injected: string
    readonly proxy: string
    readonly ports: string
    readonly probes: string
    readonly bootstrap: string
    readonly originalTargetPorts: string
    /** The bootstrap of a container that calls out. It has no state folder, because that belongs to xserver. */
    readonly outboundBootstrap: string
    /**
     * `capture`: rules in the Pod redirect calls out to its proxy. `"true"`: an xclient takes the calls of the application,
     * which finds it by `http_proxy`. `"false"`: calls leave as they are, whatever the mesh's setting is.
     */
    readonly outbound: string
    /** Destination ports that capture leaves alone, as `5432,6379`. */
    readonly excludePorts: string
    /** Destinations that capture leaves alone, as `10.0.0.0/8,fd00::/8`. */
    readonly excludeCidrs: string
    /** Destinations that capture is limited to. */
    readonly includeCidrs: string
    /** Containers that call through the mesh by themselves and so need the workload's credentials, as `a,b`. */
    readonly credentials: string
    /** What the injected containers of this Pod request and are limited to, as JSON over the mesh's values. */
    readonly resources: string
    /** `pass`: connections to ports that no container declares reach the Pod unjudged. */
    readonly undeclared: string
  }
  /** On Pods: how connections are led to their xserver. */
  readonly captureLabel: string
  /** On namespaces: `service` or `redirect` instead of the mesh's own choice. */
  readonly namespaceCaptureLabel: string
  /** On namespaces: `capture` or `off` instead of the mesh's own choice for calls out. */
  readonly namespaceOutboundLabel: string
}

export function injectionNames(names: MeshNames): InjectionNames {
  const { mesh, domain } = names
  return {
    initContainer: initContainer(names),
    outboundContainer: outboundContainer(names),
    credentialsVolume: `${mesh}-credentials`,
    stateVolume: `${mesh}-state`,
    credentialsFolder: `/var/run/secrets/${domain}`,
    stateFolder: `/var/lib/${mesh}`,
    annotations: {
      injected: `${domain}/injected`,
      proxy: `${domain}/proxy`,
      ports: `${domain}/ports`,
      probes: `${domain}/probes`,
      bootstrap: `${domain}/bootstrap`,
      originalTargetPorts: `${domain}/original-target-ports`,
      outboundBootstrap: `${domain}/outbound-bootstrap`,
      outbound: `outbound.${domain}/proxy`,
      excludePorts: `outbound.${domain}/exclude-ports`,
      excludeCidrs: `outbound.${domain}/exclude-cidrs`,
      includeCidrs: `outbound.${domain}/include-cidrs`,
      credentials: `outbound.${domain}/credentials`,
      resources: `sidecar.${domain}/resources`,
      undeclared: `inbound.${domain}/undeclared`,
    },
    captureLabel: `${domain}/capture`,
    namespaceCaptureLabel: `${mesh}-capture`,
    namespaceOutboundLabel: `${mesh}-outbound`,
  }
}
