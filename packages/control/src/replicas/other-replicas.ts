// SPDX-License-Identifier: Apache-2.0
// Sends one query to all other replicas, and returns their answers and the names of those that did not answer. Merges
// their streams into one, also while replicas are added and removed.

import { messageOf } from "@merlon/xds/runtime"
import { pause, SYSTEM_TIME, type Time } from "../kubernetes/time.js"
import type { KnownReplica, KnownReplicas } from "./known-replicas.js"
import type { ReplicaCaller } from "./replica-caller.js"

export interface OtherReplicasOptions {
  readonly known: Pick<KnownReplicas, "others" | "onChange">
  readonly caller: Pick<ReplicaCaller, "ask" | "lines">
  readonly log: (message: string, fields: { readonly replica: string; readonly error: string }) => void
  readonly time?: Time
}

export interface FromOthers {
  /** Answers of the replicas that have something. */
  readonly answers: readonly unknown[]
  /** Names of the replicas that did not answer. */
  readonly silent: readonly string[]
}

export interface StreamListener {
  onLine(line: unknown): void
  /** Called whenever the set of unreachable replicas changes. */
  silent(names: readonly string[]): void
}

const RETRY_MS = 1_000

export class OtherReplicas {
  readonly #options: OtherReplicasOptions
  readonly #time: Time

  constructor(options: OtherReplicasOptions) {
    this.#options = options
    this.#time = options.time ?? SYSTEM_TIME
  }

  async ask(path: string, query: URLSearchParams): Promise<FromOthers> {
    const { known, caller } = this.#options
    const silent: string[] = []
    const answers = await Promise.all(
      known.others.map(replica =>
        caller.ask(replica, path, query).catch((error: unknown) => {
          this.#unheard(replica, error)
          silent.push(replica.name)
          return undefined
        }),
      ),
    )
    return { answers: answers.filter(answer => answer !== undefined), silent: silent.sort() }
  }

  /** Returns the first answer from any of them, without waiting for the others. */
  async first(
    path: string,
    query: URLSearchParams,
  ): Promise<{ readonly found: unknown; readonly silent: readonly string[] }> {
    const { known, caller } = this.#options
    const enough = new AbortController()
    const silent: string[] = []
    const found = await new Promise<unknown>(resolve => {
      const all = known.others.map(replica =>
        caller.ask(replica, path, query, enough.signal).then(
          answer => (answer === undefined ? undefined : resolve(answer)),
          (error: unknown) => {
            if (enough.signal.aborted) return
            this.#unheard(replica, error)
            silent.push(replica.name)
          },
        ),
      )
      void Promise.all(all).then(() => resolve(undefined))
    })
    enough.abort()
    return { found, silent: silent.sort() }
  }

  /** Returns a function that stops following. */
  follow(path: string, query: URLSearchParams, listener: StreamListener): () => void {
    const { known } = this.#options
    const followed = new Map<string, { readonly name: string; readonly end: AbortController }>()
    const silent = new Set<string>()
    const setReachable = (name: string, isReachable: boolean): boolean => {
      if (silent.has(name) !== isReachable) return false
      if (isReachable) silent.delete(name)
      else silent.add(name)
      listener.silent([...silent].sort())
      return true
    }
    const look = (): void => {
      const now = new Map(known.others.map(replica => [`${replica.name} ${replica.host} ${replica.port}`, replica]))
      for (const [key, { name, end }] of followed) {
        if (now.has(key)) continue
        followed.delete(key)
        end.abort()
        // A stopped replica has nothing to report that could be missed.
        setReachable(name, true)
      }
      for (const [key, replica] of now) {
        if (followed.has(key)) continue
        const end = new AbortController()
        followed.set(key, { name: replica.name, end })
        void this.#keepFollowing(replica, {
          path,
          query,
          end: end.signal,
          onLine: line => listener.onLine(line),
          setReachable,
        })
      }
    }
    const unfollow = known.onChange(look)
    look()
    return () => {
      unfollow()
      for (const { end } of followed.values()) end.abort()
      followed.clear()
    }
  }

  async #keepFollowing(replica: KnownReplica, { path, query, end, onLine, setReachable }: Following): Promise<void> {
    const { name } = replica
    while (!end.aborted) {
      let why: unknown = new Error("it ended the stream")
      try {
        for await (const line of this.#options.caller.lines(replica, path, query, end, () =>
          setReachable(name, true),
        )) {
          if (end.aborted) return
          onLine(line)
        }
      } catch (error) {
        why = error
      }
      if (end.aborted) return
      // Reported once, not on every retry.
      if (setReachable(name, false)) this.#unheard(replica, why)
      await pause(this.#time, RETRY_MS, end)
    }
  }

  #unheard({ name }: KnownReplica, error: unknown): void {
    this.#options.log("another replica did not respond", { replica: name, error: messageOf(error) })
  }
}

interface Following {
  readonly path: string
  readonly query: URLSearchParams
  readonly end: AbortSignal
  readonly onLine: (line: unknown) => void
  /** Whether that is news. */
  readonly setReachable: (name: string, isReachable: boolean) => boolean
}
