// SPDX-License-Identifier: Apache-2.0
// One decision by its id, from whichever proxy has it.

import { ApiError } from "@merlon/control"
import { EXIT } from "../exit.js"
import type { Session } from "../session.js"
import { print } from "../terminal.js"
import { type Seen, seenOne } from "./answers-api.js"
import { decisionText } from "./decision-text.js"
import { decisionJson } from "./json.js"

export async function explainDecision(session: Session, id: string, output: "text" | "json"): Promise<void> {
  const seen = await found(session, id)
  print(output === "json" ? decisionJson(seen) : decisionText(seen))
  process.exitCode = seen.spec.verdict === "allow" ? EXIT.ok : EXIT.found
}

/** In all namespaces; who may not ask about all of them asks in their own. */
async function found(session: Session, name: string): Promise<Seen> {
  const asking = { resource: "decisions", name } as const
  if (session.askedNamespace !== undefined) return seenOne(session, { ...asking, namespace: session.askedNamespace })
  try {
    return await seenOne(session, { ...asking, namespace: undefined })
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 403) throw error
    return seenOne(session, { ...asking, namespace: session.namespace })
  }
}
