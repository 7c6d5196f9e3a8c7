// SPDX-License-Identifier: Apache-2.0
// What was thrown, in words.

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
