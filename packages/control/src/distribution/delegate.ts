// SPDX-License-Identifier: Apache-2.0
// The interface to the provider of standard xDS resources (listeners, routes, clusters, endpoints). Callers have been
// authorized before; these resources are the same for every member of the mesh.

import type { Caller, ClientNode, Snapshot } from "@merlon/xds/server"

export interface RouteClient {
  readonly caller: Caller
  readonly node: ClientNode
}

/** One stream's subscription to one type. */
export interface RouteWatch {
  /**
   * The current resources for the names. Cheap: called after every `wake`. Its revision changes whenever its resources
   * do.
   */
  snapshot(): Snapshot
  /** The client's acknowledgement, for statistics. */
  acknowledged?(revision: number): void
  rejected?(revision: number, message: string): void
  close(): void
}

export interface RouteResources {
  /** Whether resources of the type can exist at all. */
  serves(typeUrl: string): boolean
  /** Calls `wake` whenever the resources for the names have changed, but never before `watch` has returned. */
  watch(client: RouteClient, typeUrl: string, names: "*" | ReadonlySet<string>, wake: () => void): RouteWatch
}
