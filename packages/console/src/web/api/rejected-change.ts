// SPDX-License-Identifier: Apache-2.0
// Distinguishes a rejected change, for example by an invariant, from a missing permission. Both are 403, but only
// admission names its webhook, and the text after that name is what users need.

import { ApiError } from "./client.js"

const WEBHOOK = /^admission webhook .*? denied the request: /

export function isRejectedChange(error: Error): boolean {
  return error instanceof ApiError && error.status === 403 && WEBHOOK.test(error.message)
}

/** The message without the webhook's name. */
export function messageOf(error: Error): string {
  return isRejectedChange(error) ? error.message.replace(WEBHOOK, "") : error.message
}
