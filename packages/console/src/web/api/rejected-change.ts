// SPDX-License-Identifier: Apache-2.0
// Tells a change that was rejected, as by an invariant, from a person who lacks a right. Both are 403, but only admission
// names its webhook, and the text behind that name is what people need.

import { ApiError } from "./client.js"

const WEBHOOK = /^admission webhook .*? denied the request: /

export function isRejectedChange(error: Error): boolean {
  return error instanceof ApiError && error.status === 403 && WEBHOOK.test(error.message)
}

/** Without the webhook's name. */
export function messageOf(error: Error): string {
  return isRejectedChange(error) ? error.message.replace(WEBHOOK, "") : error.message
}
