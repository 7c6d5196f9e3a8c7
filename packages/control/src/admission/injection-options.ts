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
  /** `refuse`: Pods whose rules capture traffic receive only datagrams that answer their own. Default: `pass`. */
  readonly udp?: Udp | undefined
  /** How outbound calls of Pods are handled if the Pod does not say; default `off`. */
  readonly outbound?: Outbound | undefined
  /**
   * Whether the proxy is an init container that keeps running (Kubernetes 1.29), so that it outlives the application.
   */
  readonly nativeSidecar: boolean
  readonly controlPlane: {
    /** `HOST:PORT`. */
    readonly address: string
    /** The name expected in its certificate. */
    readonly serverName: string
  }
  /** Resources of every injected container. */
  readonly resources?: ProxyResources
}

/** `capture`: rules in the Pod redirect its TCP connections to its proxy. */
export const OUTBOUNDS = ["capture", "off"] as const
export type Outbound = (typeof OUTBOUNDS)[number]

/** Increased when the injected parts change; Pods record their version. */
export const TEMPLATE_VERSION = "3"

export const HEALTH_PORT = 15_021
const ADMIN_PORT = 15_000
/** Port for outbound calls: connections that rules capture, or requests by `http_proxy`. */
export const OUTBOUND_PORT = 15_001
export const MAX_PORTS = 20

/** Whether an application cannot use this port, because xserver does. */
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
    /**
     * The bootstrap of a container that calls through the mesh, without a state folder, because that belongs to
     * xserver.
     */
    readonly outboundBootstrap: string
    /**
     * `capture`: rules in the Pod redirect outbound calls to its proxy. `"true"`: an xclient handles the calls of the
     * application, which finds it by `http_proxy`. `"false"`: calls are unchanged, whatever the mesh's setting is.
     */
    readonly outbound: string
    /** Destination ports that are not captured, such as `5432,6379`. */
    readonly excludePorts: string
    /** Destinations that are not captured, such as `10.0.0.0/8,fd00::/8`. */
    readonly excludeCidrs: string
    /** The only destinations that are captured. */
    readonly includeCidrs: string
    /** Containers, such as `a,b`, that call through the mesh themselves and so need the workload's credentials. */
    readonly credentials: string
    /** Requests and limits of this Pod's injected containers, as JSON that overrides the mesh's values. */
    readonly resources: string
    /** `pass`: connections to ports that no container declares reach the Pod without a check. */
    readonly undeclared: string
  }
  /** Label of Pods: how connections reach their xserver. */
  readonly captureLabel: string
  /** Label of namespaces: `service` or `redirect` overrides the mesh's setting. */
  readonly namespaceCaptureLabel: string
  /** Label of namespaces: `capture` or `off` overrides the mesh's setting for outbound calls. */
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
