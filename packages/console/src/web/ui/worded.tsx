// SPDX-License-Identifier: Apache-2.0
// A message of the control plane. It quotes names and other input in backticks; they are shown as code.

import type { ReactNode } from "react"

export function Worded({ text }: { readonly text: string | undefined }): ReactNode {
  const parts = (text ?? "").split("`")
  // An unpaired backtick is literal.
  if (parts.length % 2 === 0) return text
  return parts.map((part, at) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other key
    at % 2 === 0 ? part : <code key={at}>{part}</code>,
  )
}
