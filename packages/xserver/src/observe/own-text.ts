// SPDX-License-Identifier: Apache-2.0
// Strings that outlive their request. V8 lets a substring share its parent's memory, here a whole request head, so a kept
// string is copied and truncated to a readable length.

export const MAX_TEXT = 2_048
/** V8 copies pieces shorter than this by itself. */
const SHARED_FROM = 13

/** What is joined has to be made whole before a piece is cut from it: a third of the time that a way through bytes takes. */
export function ownText(text: string): string {
  return text.length < SHARED_FROM ? text : ` ${text}`.slice(1)
}

export function shortText(text: string): string {
  return text.length > MAX_TEXT ? `${ownText(text.slice(0, MAX_TEXT))}…` : ownText(text)
}
