// SPDX-License-Identifier: Apache-2.0
// Where the page begins.

import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { ApiError } from "./api/client.js"
import { App } from "./shell/app.js"
import { noteAnswer, noteFailure, partOf } from "./shell/connection.js"
import "./shell/base.css"

const SESSION = ["session"]

function triesFor(status: number): number {
  if (status === 429) return 20
  return status >= 500 ? 1 : 0
}

const queries = new QueryClient({
  queryCache: new QueryCache({
    onSuccess: (_, { queryKey: [word] }) => noteAnswer(partOf(word)),
    onError: (error, { queryKey: [word] }) => {
      noteFailure(partOf(word), error)
      // The session has ended, or the console's server began anew: ask who one is.
      if (error instanceof ApiError && error.status === 401) void queries.invalidateQueries({ queryKey: SESSION })
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // The mesh may be on this machine, which needs no network.
      networkMode: "always",
      // What was refused stays refused; silence is worth another try, and who asked too much waits for a turn.
      retry: (tries, error) => error instanceof ApiError && tries < triesFor(error.status),
      retryDelay: tries => Math.min(1_000 * 2 ** tries, 5_000),
    },
  },
})

const root = document.getElementById("root")
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  )
}
