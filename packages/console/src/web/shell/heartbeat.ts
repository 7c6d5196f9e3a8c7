// SPDX-License-Identifier: Apache-2.0
// Polls the control plane, so that every page shows within three seconds that it does not answer, even if the page itself
// rarely sends a request. One failure is retried before it counts.

import { useEffect } from "react"
import { ApiError, api } from "../api/client.js"
import { answersPath } from "../api/queries.js"
import { noteAnswer, noteFailure } from "./connection.js"
import { useHidden } from "./hidden.js"
import { useSession } from "./session.js"

/** Together they leave a second of the three for the two responses. */
const BEAT_MS = 1_500
const RETRY_MS = 500
/** A busy control plane may be slow; one that takes longer than this counts as hung. */
const SILENT_MS = 5_000

type Ask = (signal: AbortSignal) => Promise<unknown>

/** Polls while the page is visible. */
export function useHeartbeat(): void {
  const { names } = useSession()
  const hidden = useHidden()
  // The API's list of resources: every signed-in user can read it, and the control plane computes nothing for it.
  const path = answersPath(names, "").replace(/\/$/, "")
  useEffect(() => (hidden ? undefined : startHeartbeat(signal => api(path, { signal }))), [path, hidden])
}

/** Returns a function that stops it. */
export function startHeartbeat(ask: Ask): () => void {
  const ended = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let failures = 0
  const beat = async (): Promise<void> => {
    try {
      await withLimit(ask, ended.signal)
      failures = 0
      if (!ended.signal.aborted) noteAnswer("answers")
    } catch (error) {
      failures++
      const counts = failures > 1 || isSilence(error)
      if (counts && !ended.signal.aborted) noteFailure("answers", error)
    }
    if (!ended.signal.aborted) timer = setTimeout(() => void beat(), failures === 1 ? RETRY_MS : BEAT_MS)
  }
  void beat()
  return () => {
    ended.abort()
    clearTimeout(timer)
  }
}

async function withLimit(ask: Ask, ended: AbortSignal): Promise<void> {
  const limit = new AbortController()
  const timer = setTimeout(
    () => limit.abort(new ApiError(504, "Timeout", "the control plane does not respond")),
    SILENT_MS,
  )
  try {
    await ask(AbortSignal.any([ended, limit.signal]))
  } catch (error) {
    throw limit.signal.aborted ? limit.signal.reason : error
  } finally {
    clearTimeout(timer)
  }
}

function isSilence(error: unknown): boolean {
  return error instanceof ApiError && error.reason === "Timeout"
}
