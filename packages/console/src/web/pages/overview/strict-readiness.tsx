// SPDX-License-Identifier: Apache-2.0
// How far the mesh is from mutual TLS alone.

import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Answer, Readiness } from "../../api/answers.js"
import type { List } from "../../api/objects.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark, type Tone } from "../../ui/mark.js"
import { count } from "../../ui/time.js"

export const STATES: readonly { readonly state: Readiness["state"]; readonly tone: Tone; readonly words: string }[] = [
  { state: "waiting", tone: "warn", words: "still called in plaintext" },
  { state: "unknown", tone: "quiet", words: "unknown: not observed long enough" },
  { state: "ready", tone: "good", words: "ready for STRICT" },
  { state: "strict", tone: "good", words: "mutual TLS alone" },
]

export function StrictReadiness({
  query,
}: {
  readonly query: UseQueryResult<List<Answer<Readiness>>, Error>
}): ReactNode {
  return (
    <section aria-labelledby="strict">
      <h2 id="strict">Mutual TLS</h2>
      <Loaded query={query}>
        {({ items }) => (
          <>
            <ul className="plain">
              {STATES.map(({ state, tone, words }) => {
                const found = items.filter(({ spec }) => spec.state === state).length
                return (
                  <li key={state}>
                    <Mark tone={found === 0 ? "quiet" : tone}>
                      {count(found)} {words}
                    </Mark>
                  </li>
                )
              })}
            </ul>
            <p>
              <Link href="/plaintext">Who still calls without it</Link>
            </p>
          </>
        )}
      </Loaded>
    </section>
  )
}
