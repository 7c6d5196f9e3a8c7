// SPDX-License-Identifier: Apache-2.0
// What the control plane and a worker that holds connections for it say to each other.

import type { Status } from "../../wire/status.js"
import type { ServerLimits } from "../limits.js"
import type { Credentials } from "../listener.js"
import type { ToldCertificate } from "../peer-certificate.js"

/** From the control plane. A call is known by the number that the worker gave it. */
export type Order =
  | {
      readonly order: "open"
      readonly host: string
      readonly port: number
      readonly credentials: Credentials
      readonly limits: ServerLimits
    }
  | { readonly order: "swap"; readonly credentials: Credentials }
  | { readonly order: "drain" }
  | { readonly order: "listen"; readonly call: number }
  | { readonly order: "send"; readonly call: number; readonly parts: readonly Uint8Array[] }
  | { readonly order: "finish"; readonly call: number; readonly code: Status; readonly message: string }
  | { readonly order: "cut"; readonly call: number }

/** From a worker. */
export type News =
  | { readonly news: "opened"; readonly port: number }
  | { readonly news: "failed"; readonly why: string; readonly code: string | undefined }
  | { readonly news: "connections"; readonly open: number }
  | { readonly news: "said"; readonly level: "info" | "warn" | "error"; readonly fields: object; readonly what: string }
  | {
      readonly news: "call"
      readonly call: number
      readonly path: string
      readonly authorization: string | undefined
      readonly address: string
      readonly certificate: ToldCertificate | undefined
    }
  | { readonly news: "message"; readonly call: number; readonly bytes: Buffer }
  | { readonly news: "ended"; readonly call: number }
  /** So many bytes of all that was sent on it have gone, and nothing waits. */
  | { readonly news: "taken"; readonly call: number; readonly bytes: number }
  | { readonly news: "closed"; readonly call: number }

/** Said by a process once it listens to the other: what was sent to it before that is lost. */
export const HELLO = "hello"
/** The last batch has been dealt with. */
export const DONE = "done"

export type Sent<Item> = typeof HELLO | typeof DONE | { readonly items: readonly Item[] }
