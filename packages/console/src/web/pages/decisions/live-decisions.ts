// SPDX-License-Identifier: Apache-2.0
// Live decisions, newest first: those that the proxies remember, then new ones. New decisions are batched, so that a hundred
// per second redraw the page only a few times per second.

import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import type { Answer, Decision } from "../../api/answers.js"
import { ApiError, api, apiLines } from "../../api/client.js"
import type { List } from "../../api/objects.js"
import { answersPath } from "../../api/queries.js"
import { noteAnswer, noteFailure } from "../../shell/connection.js"
import { useHidden } from "../../shell/hidden.js"
import { useSession } from "../../shell/session.js"

export interface LiveDecisions {
  readonly decisions: readonly Answer<Decision>[]
  /** The number of decisions that the proxies had to drop. */
  readonly leftOut: number
  readonly error: Error | undefined
  readonly live: boolean
  /** True until the first response for these filters. */
  readonly loading: boolean
}

interface Known extends Omit<LiveDecisions, "loading"> {
  /** The query of these decisions. */
  readonly query: string
}

interface WatchEvent {
  readonly type: string
  readonly object: Answer<Decision>
}

export const MOST = 10_000
/** The limit of earlier decisions in one response. */
const MOST_TOLD = 5_000
const GATHER_MS = 250
const AGAIN_MS = 2_000
const NOTHING: Known = { decisions: [], leftOut: 0, error: undefined, live: false, query: "" }

/** `paused` takes effect with the first response: before it, there is nothing to pause. */
export function useLiveDecisions(query: string, paused: boolean, namespace?: string): LiveDecisions {
  const { names } = useSession()
  const queries = useQueryClient()
  const [state, setState] = useState(NOTHING)
  const hidden = useHidden()
  const asked = `${namespace ?? ""} ${query}`
  const isHeld = paused && state.query === asked
  useEffect(() => {
    // The page shows nothing new while it is paused or hidden. Decisions made meanwhile are loaded afterwards.
    if (isHeld || hidden) return
    const ended = new AbortController()
    const base = answersPath(names, "decisions", namespace)
    let waiting: Answer<Decision>[] = []
    let missed = 0
    let timer: ReturnType<typeof setTimeout> | undefined
    const flush = (): void => {
      timer = undefined
      const [arrived, left] = [waiting.reverse(), missed]
      waiting = []
      missed = 0
      setState(known => ({
        ...known,
        decisions: [...arrived, ...known.decisions].slice(0, MOST),
        leftOut: known.leftOut + left,
      }))
    }
    const follow = async (): Promise<void> => {
      // Starts the watch before the list, so that no decision between the two is missed.
      const events = await apiLines<WatchEvent>(`${base}?watch=true&${query}`, ended.signal)
      const { items } = await api<List<Answer<Decision>>>(`${base}?limit=${MOST_TOLD}&${query}`, {
        signal: ended.signal,
      })
      noteAnswer("answers")
      const shown = new Set(items.map(({ metadata }) => metadata.name))
      setState(known => ({
        ...{ query: asked, error: undefined, live: true },
        decisions: [...items, ...before(known, asked, shown)].slice(0, MOST),
        leftOut: known.query === asked ? known.leftOut : 0,
      }))
      for await (const event of events) {
        if (event.type === "ADDED") {
          if (!shown.has(event.object.metadata.name)) waiting.push(event.object)
        } else missed += Number(Object.values(event.object.metadata.annotations ?? {})[0] ?? 0)
        timer ??= setTimeout(flush, GATHER_MS)
      }
    }
    const go = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        try {
          await follow()
          setState(known => ({ ...known, live: false }))
        } catch (error) {
          if (ended.signal.aborted) return
          const failure = error instanceof Error ? error : new Error(String(error))
          noteFailure("answers", failure)
          setState(known => ({ ...known, error: failure, live: false }))
          const status = failure instanceof ApiError ? failure.status : 500
          if (status === 401) void queries.invalidateQueries({ queryKey: ["session"] })
          // A rejection and a 404 are final. A rate limit is retried.
          if (status < 500 && status !== 429) return
        }
        await new Promise(resolve => setTimeout(resolve, AGAIN_MS))
      }
    }
    void go()
    return () => {
      ended.abort()
      clearTimeout(timer)
    }
  }, [names, query, asked, isHeld, hidden, queries, namespace])
  return { ...state, loading: state.query !== asked }
}

/** Known decisions that the new response does not contain: proxies remember fewer decisions than the page shows. */
function before(known: Known, query: string, listed: ReadonlySet<string>): readonly Answer<Decision>[] {
  return known.query === query ? known.decisions.filter(({ metadata }) => !listed.has(metadata.name)) : []
}
