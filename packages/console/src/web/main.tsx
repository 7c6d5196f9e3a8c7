// SPDX-License-Identifier: Apache-2.0
// Starts the page.

import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { ApiError } from "./api/client.js"
import { App } from "./shell/app.js"
import { noteAnswer, noteFailure, partOf } from "./shell/connection.js"
import { showTheme, storedTheme } from "./shell/theme.js"
import "./shell/tokens.css"
import "./shell/base.css"
import "./ui/controls.css"
import "./ui/table.css"

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
      // The session expired, or the console's server restarted: load the sign-in state again.
      if (error instanceof ApiError && error.status === 401) void queries.invalidateQueries({ queryKey: SESSION })
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // The mesh may be on this machine, which needs no network.
      networkMode: "always",
      // A rejection is final. A missing response and a rate limit are retried.
      retry: (tries, error) => error instanceof ApiError && tries < triesFor(error.status),
      retryDelay: tries => Math.min(1_000 * 2 ** tries, 5_000),
    },
  },
})

showTheme(storedTheme())
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
