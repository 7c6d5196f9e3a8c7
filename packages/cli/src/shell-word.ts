// SPDX-License-Identifier: Apache-2.0
// A value as one word of a shell's line, so that what we print can be pasted.

export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
