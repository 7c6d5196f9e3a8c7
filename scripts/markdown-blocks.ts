// SPDX-License-Identifier: Apache-2.0
// Fenced blocks of a Markdown file, in order.

export interface Block {
  readonly language: string
  readonly text: string
  /** Line of the opening fence, from 1. */
  readonly line: number
}

export function blocks(markdown: string): readonly Block[] {
  const found: Block[] = []
  let open: { language: string; line: number; lines: string[] } | undefined
  for (const [index, line] of markdown.split("\n").entries()) {
    const fence = /^```(\S*)\s*$/.exec(line)
    if (fence === null) open?.lines.push(line)
    else if (open === undefined) open = { language: fence[1] ?? "", line: index + 1, lines: [] }
    else {
      found.push({ language: open.language, line: open.line, text: `${open.lines.join("\n")}\n` })
      open = undefined
    }
  }
  return found
}
