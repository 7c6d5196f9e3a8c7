// SPDX-License-Identifier: Apache-2.0
// Words of the control plane, in which what people wrote stands in backticks: shown as they wrote it.

import type { ReactNode } from "react"

export function Worded({ text }: { readonly text: string | undefined }): ReactNode {
  const parts = (text ?? "").split("`")
  // Without a partner a backtick is a backtick.
  if (parts.length % 2 === 0) return text
  return parts.map((part, at) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
    at % 2 === 0 ? part : <code key={at}>{part}</code>,
  )
}
