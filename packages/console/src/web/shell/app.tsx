// SPDX-License-Identifier: Apache-2.0
// The pages for a signed-in user, and the sign-in form for all others.

import { useQuery } from "@tanstack/react-query"
import { type ReactNode, useRef } from "react"
import { Router } from "wouter"
import { openSession } from "../api/client.js"
import { Frame } from "./frame.js"
import { FrameOutline } from "./frame-outline.js"
import { useHashLocation, useHashSearch } from "./hash-location.js"
import { SessionContext } from "./session.js"
import { SignIn } from "./sign-in.js"

export function App(): ReactNode {
  const session = useQuery({ queryKey: ["session"], queryFn: openSession, refetchInterval: 30_000 })
  const wasSignedIn = useRef(false)
  if (session.data?.user !== undefined) wasSignedIn.current = true
  return (
    <Router hook={useHashLocation} searchHook={useHashSearch}>
      {session.isPending ? (
        <FrameOutline />
      ) : session.data?.user === undefined ? (
        <SignIn about={session.data} failure={session.error} ended={wasSignedIn.current} />
      ) : (
        <SessionContext value={session.data}>
          <Frame session={session.data} />
        </SessionContext>
      )}
    </Router>
  )
}
