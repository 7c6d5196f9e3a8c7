// SPDX-License-Identifier: Apache-2.0
// Wires the history of policies: admission and the copy of the cluster notify the recorder, which writes to the store.

import { messageOf } from "@merlon/xds/runtime"
import { ChangeRecorder } from "../history/change-recorder.js"
import { HistoryStore } from "../history/history-store.js"
import { componentNames } from "../install/component-names.js"
import { lastKnownRoleAsOwner } from "../kubernetes/owner-reference.js"
import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { systemClock } from "../observe/clock.js"
import type { ControlPlaneOptions } from "../options.js"
import type { PolicySource } from "../policies/stored-policy.js"
import type { Prover } from "../proofs/prover.js"
import type { Closers } from "./closers.js"

export interface HistoryParts {
  readonly options: ControlPlaneOptions
  readonly policies: PolicySource
  readonly prover: Prover
  readonly namespaces: Reflected<KubernetesObject>
}

export interface History {
  readonly store: HistoryStore
  /** Undefined if no history is kept. */
  readonly recorder: ChangeRecorder | undefined
}

export async function keepHistory(parts: HistoryParts, closers: Closers): Promise<History> {
  const { options, policies, prover, namespaces } = parts
  const { client, mesh, logger, historyEntries } = options
  const { names } = mesh
  const warn = (message: string): void => logger.warn(message)
  const owners = lastKnownRoleAsOwner(client, componentNames(names).controlPlane)
  const store = new HistoryStore({ client, names, maxEntries: historyEntries, owners, warn, now: Date.now })
  // Not worth a failed start: without it, `merlonctl history` cannot compare moments, and reports that.
  await store
    .begin()
    .catch((error: unknown) => logger.warn({ error: messageOf(error) }, "the history could not be started"))
  closers.add(
    namespaces.onChange(({ key, object }) => {
      if (object !== undefined) return
      store
        .forget(key)
        .catch((error: unknown) => logger.warn({ error: messageOf(error) }, "a history could not be deleted"))
    }),
  )
  if (!store.isOn) return { store, recorder: undefined }
  const recorder = new ChangeRecorder({ names, policies, prover, store, clock: systemClock, warn })
  closers.add(() => recorder.stop())
  return { store, recorder }
}
