// SPDX-License-Identifier: Apache-2.0
// The port with its connections: calls come out of it. It is held by this process, or by workers of its own.

import type { Call } from "./call.js"
import type { GrpcCall } from "./grpc/call.js"
import { GrpcServer } from "./grpc/server.js"
import { Listener, type ListenerOptions } from "./listener.js"

export interface DoorOptions extends Omit<ListenerOptions, "accept"> {
  readonly serve: (call: Call) => void
}

export interface Door {
  readonly port: number
  /** Connections from now on meet today's credentials. */
  swap(): void
  /** Lets nobody in any more, and asks who is in to go. */
  drain(): void
  /** Resolves once no connection is left. */
  emptied(): Promise<void>
  destroy(): void
}

export interface LocalDoor extends Door {
  /** Whether nobody is read for now. */
  pause(isPaused: boolean): void
}

export interface LocalDoorOptions extends Omit<DoorOptions, "serve"> {
  readonly serve: (call: GrpcCall) => void
}

export async function openDoor({ serve, ...options }: LocalDoorOptions): Promise<LocalDoor> {
  const server = new GrpcServer({ limits: options.limits, serve })
  const listener = await Listener.listen({ ...options, accept: connection => server.accept(connection) })
  return {
    port: listener.port,
    swap: () => listener.swap(),
    pause: isPaused => listener.pause(isPaused),
    drain() {
      listener.stop()
      server.drain()
    },
    emptied: () => listener.emptied(),
    destroy: () => listener.destroy(),
  }
}
