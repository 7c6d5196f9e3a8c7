// SPDX-License-Identifier: Apache-2.0
// The interface to the provider of standard xDS resources (listeners, routes, clusters, endpoints). Callers are
// authorized before; these resources are the same for every member of the mesh.

import type { Caller, ClientNode, Snapshot } from "@merlon/xds/server"

export interface RouteClient {
  readonly caller: Caller
  readonly node: ClientNode
}

/** One stream's look at one type. */
export interface RouteWatch {
  /** What the names yield now. Cheap: called after every `wake`. Its revision changes whenever its resources do. */
  snapshot(): Snapshot
  /** The client's acknowledgement, for counting. */
  acknowledged?(revision: number): void
  rejected?(revision: number, message: string): void
  close(): void
}

export interface RouteResources {
  /** Whether there can be resources of the type at all. */
  serves(typeUrl: string): boolean
  /** Calls `wake` whenever what the names yield has changed, never before `watch` has returned. */
  watch(client: RouteClient, typeUrl: string, names: "*" | ReadonlySet<string>, wake: () => void): RouteWatch
}
