// SPDX-License-Identifier: Apache-2.0
// The context of every page: the mesh's names and the signed-in user.

import { createContext, use } from "react"
import type { About } from "../api/client.js"

export const SessionContext = createContext<About | undefined>(undefined)

export function useSession(): About {
  const session = use(SessionContext)
  if (session === undefined) throw new Error("a page is shown to nobody")
  return session
}
