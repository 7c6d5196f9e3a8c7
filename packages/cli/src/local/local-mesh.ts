// SPDX-License-Identifier: Apache-2.0
// One local mesh from start to end, with exclusive use of its data folder. If the start fails, nothing is left running.
// Its state is recorded continuously, for other commands and for recovery after a crash.

import { messageOf } from "@merlon/xds/runtime"
import { CommandError } from "../ctl/exit.js"
import type { LocalMeshOptions } from "./local-mesh-options.js"
import { MeshAttempt } from "./mesh-attempt.js"
import { StartFailure } from "./processes/process-set.js"
import { type MeshLock, takeLock } from "./record/mesh-lock.js"
import { type MeshRecord, newRecord, type Phase, writeRecord } from "./record/mesh-record.js"
import { prepareData } from "./record/prepare-data.js"
import { TOKEN_SECONDS } from "./runs/join-workload.js"

const MOST_TRIES = 5
const RENEW_TOKENS_MS = (TOKEN_SECONDS * 1000) / 4

export class LocalMesh {
  readonly #options: LocalMeshOptions
  readonly #lock: MeshLock
  #attempt: MeshAttempt
  #phase: Phase = "starting"
  #renewal: NodeJS.Timeout | undefined
  #stopped: Promise<number> | undefined

  /** Throws if another mesh runs on the same data. */
  constructor(options: LocalMeshOptions) {
    prepareData(options.data)
    this.#options = options
    this.#lock = takeLock(options.data)
    this.#attempt = this.#nextAttempt()
  }

  /** Resolves when everything is ready. If that fails, everything has been stopped when it rejects. */
  async start(): Promise<MeshRecord> {
    try {
      for (let tries = 1; !(await this.#try(tries)); tries++) {
        await this.#attempt.clear()
        this.#attempt = this.#nextAttempt()
      }
      if (this.#stopped !== undefined) throw new CommandError("no-mesh", "the mesh is being stopped")
      this.#phase = "ready"
      this.#write()
      this.#renewal = setInterval(() => this.#renewTokens(), RENEW_TOKENS_MS)
      return this.#recordOrThrow()
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Returns the number of processes that ran. */
  stop(): Promise<number> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<number> {
    this.#phase = "stopping"
    clearInterval(this.#renewal)
    this.#write()
    const count = await this.#attempt.clear()
    this.#phase = "stopped"
    this.#write()
    this.#lock.release()
    return count
  }

  /** False if a port was taken after it was chosen, for example by another mesh that starts at the same time. */
  async #try(tries: number): Promise<boolean> {
    if (this.#stopped !== undefined) throw new CommandError("no-mesh", "the mesh is being stopped")
    try {
      await this.#attempt.bringUp()
      return true
    } catch (error) {
      if (!isPortTaken(error) || tries === MOST_TRIES || this.#stopped !== undefined) throw error
      this.#options.progress({ kind: "note", text: "another program took a port; starting again on other ports" })
      return false
    }
  }

  #nextAttempt(): MeshAttempt {
    return new MeshAttempt(this.#options, () => this.#write())
  }

  #renewTokens(): void {
    this.#attempt.renewTokens().catch((error: unknown) => {
      this.#options.progress({
        kind: "trouble",
        text: `the workloads' tokens could not be renewed: ${messageOf(error)}`,
      })
    })
  }

  #recordOrThrow(): MeshRecord {
    const { layout, processes, runs } = this.#attempt
    if (layout === undefined) throw new CommandError("no-mesh", "the mesh has not begun to start")
    const { mesh, domain } = this.#options
    const { ports, workloads, ingressPorts, fallbackPorts } = layout
    return newRecord({
      phase: this.#phase,
      mesh,
      domain,
      supervisor: this.#lock.holder,
      ports,
      workloads,
      ingressPorts,
      fallbackPorts,
      processes,
      runs,
    })
  }

  // Without the record a crash leaves more to clean up, but the running processes do not need it.
  #write(): void {
    if (this.#attempt.layout === undefined) return
    try {
      writeRecord(this.#options.data, this.#recordOrThrow())
    } catch (error) {
      this.#options.progress({ kind: "trouble", text: `cannot write down what runs: ${messageOf(error)}` })
    }
  }
}

function isPortTaken(error: unknown): boolean {
  if (error instanceof StartFailure) return error.portTaken
  // One of our own listeners: an ingress port.
  return (error as NodeJS.ErrnoException | undefined)?.code === "EADDRINUSE"
}
